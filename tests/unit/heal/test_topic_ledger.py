from tests.heal.topic_ledger import Findings, Stored, judge_partition


def judge(*keys: bytes, acknowledged: int = 0, probes: tuple[bytes, ...] = ()) -> Findings:
    stored = [Stored(offset, key) for offset, key in enumerate(keys)]
    return judge_partition("numbers/0", stored, acknowledged, probes)


def counts(found: Findings) -> tuple[int, int, int]:
    return found.lost, found.doubled, found.out_of_order


def test_all_that_was_acknowledged_once_and_in_order_is_well() -> None:
    found = judge(b"0", b"probe/0/1", b"1", b"2", acknowledged=2, probes=(b"probe/0/1",))
    assert counts(found) == (0, 0, 0)
    assert found.examples == []


def test_a_planted_duplicate_is_counted_and_named_by_its_offsets() -> None:
    found = judge(b"0", b"1", b"1", acknowledged=2)
    assert counts(found) == (0, 1, 0)
    assert found.examples == ["numbers/0: 1 is at 1 and at 2"]


def test_an_acknowledged_record_that_is_not_there_is_lost() -> None:
    assert counts(judge(b"0", b"2", acknowledged=3)) == (1, 0, 0)
    assert counts(judge(acknowledged=3)) == (3, 0, 0)


def test_a_record_that_nobody_acknowledged_may_be_missing() -> None:
    assert counts(judge(b"0", acknowledged=1)) == (0, 0, 0)


def test_a_record_behind_a_later_one_is_out_of_order() -> None:
    assert counts(judge(b"0", b"2", b"1", acknowledged=3)) == (0, 0, 1)


def test_a_lost_probe_is_counted() -> None:
    probes = (b"probe/0/1", b"probe/0/2")
    assert counts(judge(b"0", b"probe/0/2", acknowledged=1, probes=probes)) == (1, 0, 0)


def test_a_probe_may_be_stored_twice_as_its_producer_is_not_idempotent() -> None:
    assert counts(judge(b"probe/0/1", b"probe/0/1", probes=(b"probe/0/1",))) == (0, 0, 0)


def test_findings_of_partitions_add_up() -> None:
    both = judge(b"0", b"0", acknowledged=2) + judge(b"1", b"0")
    assert counts(both) == (1, 1, 1)
    assert both.total == 3
