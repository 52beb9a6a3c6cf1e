"""See _texts.c."""

def number_each(
    befores: list[str], firsts: list[int], counts: list[int], digits: int, /
) -> str: ...
