"""Memory of the process's objects."""


def use_huge_pages() -> None:
    """Puts later objects, beyond the first megabytes, on huge pages if the system has any.

    The objects of ten thousand queues span more small pages than the TLB has entries.
    """
    try:
        from duolog.adapters import _arenas
    except ImportError:
        # No compiler was present when Duolog was installed.
        return
    _arenas.use_huge_pages()
