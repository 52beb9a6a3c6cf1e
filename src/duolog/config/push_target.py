"""Entry of the allow list for push endpoints, as settings spell it. Pure."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from duolog.config.address import PORT_MAX

IpAddress = IPv4Address | IPv6Address

_BRACKETED = re.compile(r"\[(?P<host>[^\[\]]+)\](?::(?P<port>[0-9]{1,5}))?\Z")
_PLAIN = re.compile(r"(?P<host>[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?\Z")
_BARE_IPV6 = re.compile(r"(?P<host>[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?)(?P<port>)\Z")
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\Z")


@dataclass(frozen=True, slots=True)
class PushTarget:
    host: str
    """Host name in lower case; empty for a network."""
    network: IPv4Network | IPv6Network | None
    port: int | None
    """Allowed port; None for every port."""

    def allows(self, host: str, address: IpAddress, port: int) -> bool:
        """True if a URL's host may be contacted at the address that it resolved to.

        A host name is trusted wherever it points to; a network allows an address by itself,
        whatever name led to it.
        """
        if self.port is not None and port != self.port:
            return False
        if self.network is None:
            return host.lower() == self.host
        # An IPv4 address may come wrapped in an IPv6 one.
        plain = getattr(address, "ipv4_mapped", None) or address
        return plain in self.network


def parse_push_target(text: str) -> PushTarget:
    """Parses `host`, `host:port`, `10.0.0.0/8`, `10.0.0.0/8:443`, `[fd00::/8]:443`. Raises
    ValueError."""
    match = _BRACKETED.match(text) or _PLAIN.match(text) or _BARE_IPV6.match(text)
    if match is None:
        raise ValueError(text)
    host, port = match["host"], int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port <= PORT_MAX:
        raise ValueError(text)
    if "/" in host or ":" in host or host.replace(".", "").isdigit():
        return PushTarget("", ip_network(host), port)
    if not _HOST_NAME.match(host):
        raise ValueError(text)
    return PushTarget(host.lower(), None, port)


def is_push_target(text: str) -> bool:
    try:
        parse_push_target(text)
    except ValueError:
        return False
    return True
