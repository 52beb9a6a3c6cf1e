"""Ports outside the ephemeral range, which stay free while their owner restarts."""

from pathlib import Path

_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_RANGE = "32768 60999"
_FIRST_PORT = 16_000
"""Above the ports on which most programs of a machine listen."""
_END_PORT = 65_536


def kept_ports() -> range:
    """The larger range of ports that the kernel never gives to outgoing connections.

    An ephemeral port could be taken while its node restarts.
    """
    text = _RANGE_FILE.read_text() if _RANGE_FILE.exists() else _USUAL_RANGE
    first_lent, last_lent = map(int, text.split())
    return max(range(_FIRST_PORT, first_lent), range(last_lent + 1, _END_PORT), key=len)
