from duolog_pipelines.upkeep import SMALL_FILES_MIN, crowded

BYTES_MAX = 1_000
TODAY, YESTERDAY = (("date", "2026-10-02"),), (("date", "2026-10-01"),)


def test_parts_with_many_small_files_are_crowded() -> None:
    small, large = BYTES_MAX // 2 - 1, BYTES_MAX // 2
    files = [(TODAY, small)] * SMALL_FILES_MIN + [(YESTERDAY, large)] * SMALL_FILES_MIN
    assert crowded(files, BYTES_MAX) == [TODAY]
    assert crowded(files[1:], BYTES_MAX) == []
    assert crowded([*files, *files], 2 * BYTES_MAX) == [YESTERDAY, TODAY]


def test_a_table_without_partitions_is_one_part() -> None:
    assert crowded([((), 0)] * SMALL_FILES_MIN, BYTES_MAX) == [()]
