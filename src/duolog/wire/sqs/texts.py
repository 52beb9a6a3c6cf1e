"""Texts of one length, stored one after another in a single text and cut out on demand.

Ids, receipts and digests of a turn's messages are made together and written together into the
answers: most never become an object.
"""

from collections.abc import Iterator, Sequence
from typing import overload


class Texts(Sequence[str]):
    __slots__ = ("size", "text")

    def __init__(self, text: str, size: int) -> None:
        """`text` is ASCII without characters that JSON escapes."""
        self.text = text
        self.size = size

    def __len__(self) -> int:
        return len(self.text) // self.size

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "Texts": ...
    def __getitem__(self, place: int | slice) -> "str | Texts":
        """One text; for a slice, the adjacent texts."""
        size = self.size
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            assert step == 1
            return Texts(self.text[first * size : last * size], size)
        at = range(0, len(self.text), size)[place]
        return self.text[at : at + size]

    def __iter__(self) -> Iterator[str]:
        text, size = self.text, self.size
        return iter([text[at : at + size] for at in range(0, len(text), size)])


def _number_in_python(
    befores: list[str], firsts: list[int], counts: list[int], digits: int, /
) -> str:
    """Fallback for _texts.c."""
    parts = []
    for before, first, count in zip(befores, firsts, counts, strict=True):
        if count < 0 or not 0 <= first <= (1 << 4 * digits) - count:
            raise ValueError("there are not so many numbers")
        parts += [f"{before}{number:0{digits}x}" for number in range(first, first + count)]
    return "".join(parts)


try:
    from duolog.wire.sqs._texts import number_each
except ImportError:
    # No compiler was present when Duolog was installed.
    number_each = _number_in_python


def numbered(befores: list[str], firsts: list[int], counts: list[int], digits: int) -> Texts:
    """`counts` texts of each kind: its prefix and a hexadecimal number, counting up from `firsts`.

    All kinds have one length.
    """
    return Texts(number_each(befores, firsts, counts, digits), len(befores[0]) + digits)
