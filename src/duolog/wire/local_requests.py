"""Limits unsigned HTTP requests to programs on this machine.

A page in a browser on this machine is not allowed, though it connects as they do. Browsers mark a
page's request, but only if they take the address for a local one. So requests for any other host
are refused, host names included: a name that a page brings along may resolve to this machine.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

HOSTS_REMEMBERED_MAX = 256

_LOOPBACK_PEERS = ("127.", "[::1]:", "[::ffff:127.")
_HOST = re.compile(rb"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]*)?\Z", re.I)


def why_not_local(peer: str, headers: Mapping[bytes, bytes]) -> str | None:
    """Reason for refusing a request, which completes "it serves …"; None if it is local.

    `peer` is host:port; names of headers are in lower case.
    """
    if not peer.startswith(_LOOPBACK_PEERS):
        return "only its own machine"
    # A browser sends "none" for an address that somebody typed: no page is behind it.
    if b"origin" in headers or headers.get(b"sec-fetch-site", b"none") != b"none":
        return "no pages of the web"
    if not _is_local(headers.get(b"host", b"localhost")):
        return "only requests for localhost or a loopback address"
    return None


@lru_cache(HOSTS_REMEMBERED_MAX)
def _is_local(host: bytes) -> bool:
    match = _HOST.match(host)
    if match is None:
        return False
    try:
        if match[1] is not None:
            return IPv6Address(match[1].decode()) == IPv6Address("::1")
        name = match[2].decode().lower()
        return name == "localhost" or name.endswith(".localhost") or IPv4Address(name).is_loopback
    except AddressValueError:
        return False
