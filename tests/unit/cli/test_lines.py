"""Lines of standard input."""

import io
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.cli import lines
from duolog.cli.failures import Failure
from duolog.cli.lines import read_lines


class Pieces(io.BytesIO):
    """Brings a few bytes at a time, as a terminal or a pipe does."""

    def read1(self, size: int | None = -1) -> bytes:
        return super().read1(3)


def read(data: bytes, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Pieces(data), isatty=lambda: False))
    return [line for some in read_lines("a message") for line in some]


@given(st.lists(st.binary(max_size=8).filter(lambda line: not set(b"\r\n") & set(line))))
def test_every_line_comes_once_however_it_arrives(expected: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert read(b"".join(line + b"\n" for line in expected), monkeypatch) == expected


def test_the_last_line_may_lack_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(b"one\r\n\ntwo", monkeypatch) == [b"one", b"", b"two"]


def test_a_line_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 10)
    with pytest.raises(Failure, match="more than 10 bytes"):
        read(b"x" * 20, monkeypatch)
