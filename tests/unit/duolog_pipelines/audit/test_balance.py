import pytest

from duolog_pipelines.audit.balance import Counting, unaccounted


@pytest.mark.parametrize(
    ("there", "counting", "left"),
    [
        (5, Counting(5, 0, 0), 0),
        (5, Counting(3, 0, 0), 2),
        (5, Counting(6, 0, 0), -1),
        # What came or ended between the looks may or may not have been counted.
        (5, Counting(3, 2, 0), 0),
        (5, Counting(2, 2, 0), 1),
        (5, Counting(8, 0, 3), 0),
        (5, Counting(9, 0, 3), -1),
    ],
)
def test_a_difference_that_nothing_explains_is_shown(
    there: int, counting: Counting, left: int
) -> None:
    assert unaccounted(there, counting) == left
