"""Memory that a run's page cache will be made of, touched before the run is timed."""

import mmap

PAGE_BYTES = mmap.PAGESIZE


def touch(size_bytes: int) -> None:
    """Takes that much memory, writes to every page, and gives it back to the kernel.

    A virtual machine may have handed its free memory to the host. The next use of such a page
    costs a fault in the host, which is charged to whoever writes: about 3 ms/MB was seen where
    the write itself takes 0.3. Pages freed just now are the ones the kernel uses next, so the
    fault is mostly taken here; what slips through, the median of the rounds has to absorb.
    """
    pages = size_bytes // PAGE_BYTES
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with mmap.mmap(-1, pages * PAGE_BYTES, flags=private) as memory:
        memory[::PAGE_BYTES] = b"x" * pages
