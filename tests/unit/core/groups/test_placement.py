import pytest

from duolog.core.groups.placement import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -2147483648),
        ("\U0001f600", 1772899),
    ],
)
def test_the_hash_is_javas(text: str, expected: int) -> None:
    assert java_hash(text) == expected


def test_every_group_has_a_partition() -> None:
    assert partition_for("polygenelubricants", 8) == 0
    assert partition_for("hello", 50) == 22
    assert {partition_for(f"g{i}", 8) for i in range(100)} == set(range(8))
