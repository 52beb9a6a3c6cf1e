"""kcat's format, letter by letter."""

import pytest

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.topics.record_format import compile_format
from duolog.records.record import Record

RECORD = Record(b"k1", b"val\xffue", (("a", b"b"), ("c", None)), 1_700, 42)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"%p %o %k %s\n", b"3 42 k1 val\xffue\n"),
        ("%t:%T", b"orders:1700"),
        ("%S/%K", b"6/2"),
        ("%h", b"a=b,c="),
        (r"100%% \\ \x41\t\0", b"100% \\ A\t\0"),
        ("é", "é".encode()),
        ("", b""),
    ],
)
def test_a_record_is_rendered(text: str, expected: bytes) -> None:
    assert compile_format(text)("orders", 3, RECORD) == expected


def test_what_is_absent_is_empty_and_its_size_is_none() -> None:
    assert compile_format("[%k|%s|%h] %K %S")("orders", 0, Record(offset=0)) == b"[||] -1 -1"


@pytest.mark.parametrize("text", ["%z", "%", r"\q", "abc\\"])
def test_what_means_nothing_is_a_usage_error(text: str) -> None:
    with pytest.raises(Failure, match=r"which means nothing\. Use") as failure:
        compile_format(text)
    assert failure.value.code is ExitCode.USAGE
