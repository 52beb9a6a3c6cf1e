"""What work costs in CPU time, as `python -m bench.prices` measured it.

What a node does about a request in between is free: charged is what grows with stored data, and
what every request needs.
"""

from typing import NamedTuple


class Price(NamedTuple):
    call_ns: int
    """Cost of one call, however little it moves."""
    kib_ns: int = 0
    """Cost of each 1,024 bytes."""

    def of(self, size: int) -> int:
        return self.call_ns + self.kib_ns * size // 1024


STEP = Price(4_000)
"""One record that long work reads, decodes and applies."""
FILE = Price(3_300)
"""Opening a file. Renaming, removing and listing are taken to cost as much."""
READ = Price(540, 13)
"""Reading from a file that is in the page cache."""
WRITE = Price(980, 20)
SEND = Price(4_800, 72)
RECEIVE = Price(2_600, 39)
"""Being told of what has arrived on a connection, and taking it."""
STORE_REQUEST = Price(71_000)
"""One request to the metadata store, and its answer."""
STORE_ENTRY = Price(2_700)
"""One entry of an answer or of a watch."""
THREAD = Price(5_000_000)
"""Waiting for the interpreter while another thread computes: sys.getswitchinterval()."""
