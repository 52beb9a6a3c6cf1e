"""Where a process keeps its objects."""


def use_huge_pages() -> None:
    """For what is made from now on, beyond the first megabytes, as far as the system has any.

    The objects of ten thousand queues lie on more small pages than a processor remembers.
    """
    try:
        from duolog.adapters import _arenas
    except ImportError:
        # There was no compiler where Duolog was installed.
        return
    _arenas.use_huge_pages()
