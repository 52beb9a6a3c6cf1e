"""Store addresses as operators write them: `etcd://host:port,host:port`, `etcds://` with TLS."""

import re
from typing import NamedTuple

ENDPOINTS_MAX = 16
DEFAULT_PORT = 2379

_SCHEMES = {"etcd": False, "etcds": True}
_FORM = "etcd://host:port,host:port, or etcds:// for TLS"
_ENDPOINT = re.compile(
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?"
)
_CLUSTER = re.compile(r"[A-Za-z0-9._-]{1,100}")


class BadAddress(ValueError):
    """Text that is not a store's address; the message shows the right form."""


class Endpoint(NamedTuple):
    """One member of an etcd cluster."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class StoreAddress(NamedTuple):
    endpoints: tuple[Endpoint, ...]
    """At least one endpoint, no duplicates, in the order in which they are tried."""
    with_tls: bool

    def __str__(self) -> str:
        scheme = "etcds" if self.with_tls else "etcd"
        return f"{scheme}://{','.join(map(str, self.endpoints))}"


def parse_store_address(text: str) -> StoreAddress:
    """Parses an address; raises BadAddress."""
    scheme, separator, rest = text.strip().partition("://")
    if not separator or scheme not in _SCHEMES:
        raise BadAddress(f"{text!r} is not the address of a store: write {_FORM}")
    endpoints = tuple(_parse_endpoint(part.strip()) for part in rest.rstrip("/").split(","))
    if len(endpoints) > ENDPOINTS_MAX:
        raise BadAddress(f"{text!r} names more than {ENDPOINTS_MAX} endpoints")
    if len(set(endpoints)) < len(endpoints):
        raise BadAddress(f"{text!r} names an endpoint twice")
    return StoreAddress(endpoints, _SCHEMES[scheme])


def cluster_prefix(cluster: str) -> str:
    """Prefix of all keys of this cluster; several clusters can share an etcd."""
    if not _CLUSTER.fullmatch(cluster):
        raise BadAddress(
            f"{cluster!r} is not a cluster name: use up to 100 letters, digits, '.', '_', '-'"
        )
    return f"/duolog/{cluster}/"


def _parse_endpoint(text: str) -> Endpoint:
    match = _ENDPOINT.fullmatch(text)
    if match is None:
        raise BadAddress(f"{text!r} is not host:port: write {_FORM}")
    port = int(match["port"] or DEFAULT_PORT)
    if not 0 < port < 65536:
        raise BadAddress(f"{text!r} has no port between 1 and 65535")
    return Endpoint(match["ipv6"] or match["host"], port)
