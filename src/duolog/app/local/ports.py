"""Ports that belong to who listens there, also while nobody does."""

from pathlib import Path

_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_RANGE = "32768 60999"
_FIRST_PORT = 16_000
"""Above those that most programs of a machine listen on."""
_END_PORT = 65_536


def kept_ports() -> range:
    """Those that the kernel does not lend to connections.

    It lends any port of a range of its own, also that of a node which is just being restarted and
    would not get it back.
    """
    text = _RANGE_FILE.read_text() if _RANGE_FILE.exists() else _USUAL_RANGE
    first_lent, last_lent = map(int, text.split())
    return max(range(_FIRST_PORT, first_lent), range(last_lent + 1, _END_PORT), key=len)
