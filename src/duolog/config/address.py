"""Host and port, as settings spell them."""

from typing import NamedTuple

PORT_MAX = 65_535


class Address(NamedTuple):
    host: str
    port: int
    """Port number; 0 lets the system choose one."""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_wildcard(self) -> bool:
        """True if one can listen on this address but nobody can connect to it."""
        return self.host in ("0.0.0.0", "::")


def parse_address(text: str) -> Address:
    """Parses `host:port`, or `[host]:port` for IPv6. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(text)
    if not colon or not host or not (port.isascii() and port.isdigit()) or len(port) > 5:
        raise ValueError(text)
    if int(port) > PORT_MAX:
        raise ValueError(text)
    return Address(host, int(port))
