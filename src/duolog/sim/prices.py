"""What work costs in CPU time. `python -m bench.prices` measures it, and prints these lines."""

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
FILE = Price(20_000)
"""Opening, renaming or removing a file."""
READ = Price(2_000, 150)
"""Reading from a file that is in the page cache."""
WRITE = Price(8_000, 400)
SEND = Price(12_000, 300)
"""Sending on a connection."""
RECEIVE = Price(15_000, 300)
"""Being told of what has arrived on a connection, and taking it."""
STORE_REQUEST = Price(250_000)
"""One request to the metadata store, and its answer."""
STORE_ENTRY = Price(3_000)
"""One entry of an answer or of a watch."""
THREAD = Price(5_000_000)
"""Waiting for the interpreter while another thread computes."""
