"""A log that is a copy: its batches have their place already, and may leave gaps."""

from struct import pack_into

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fakes.disk import FakeDisk
from tests.unit.log.workbench import NOW_MS, batch_of, contents, open_log, sync

from duolog.log.log import Log
from duolog.records.header import LEADER_EPOCH_AT, BatchHeader, read_header


def placed(offset: int, records: int = 1, epoch: int = 0) -> bytes:
    """A batch as its leader has stored it."""
    batch = batch_of(*[b"%d" % (offset + number) * 10 for number in range(records)])
    pack_into(">q", batch, 0, offset)
    pack_into(">i", batch, LEADER_EPOCH_AT, epoch)
    return bytes(batch)


def copy(log: Log, *batches: bytes) -> None:
    pairs: list[tuple[BatchHeader, memoryview]] = [
        (read_header(batch), memoryview(batch)) for batch in batches
    ]
    log.append_copied(pairs, NOW_MS)


def test_batches_keep_their_offsets_and_epochs() -> None:
    log = open_log(FakeDisk())
    batches = [placed(0, 3, epoch=1), placed(3, 2, epoch=1), placed(5, 1, epoch=4)]
    copy(log, *batches)
    assert contents(log) == batches
    assert log.epochs.entries == [(1, 0), (4, 5)]


def test_a_cut_inside_a_gap_takes_nothing_from_before_it() -> None:
    log = open_log(FakeDisk())
    batches = [placed(0), placed(1), placed(10), placed(11)]
    copy(log, *batches)
    log.truncate_to(5)
    assert contents(log) == batches[:2]


def test_a_read_inside_a_gap_goes_on_behind_it() -> None:
    log = open_log(FakeDisk())
    copy(log, placed(0), placed(10))
    found = log.read(4, 1 << 20, log.end_offset)
    assert found is not None
    data = found.file.pread(found.length, found.position)
    assert read_header(data).base_offset == 10


def test_offsets_behind_a_gap_at_the_end_are_not_given_again_after_a_restart() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    copy(log, placed(0), placed(1))
    log.skip_to(20)
    assert log.end_offset == 20
    sync(log)
    disk.crash()
    again = open_log(disk, recovery_point=log.durable_offset)
    assert again.end_offset == 20
    assert not again.damaged


def test_an_epoch_without_records_is_forgotten_before_another_leader_is_followed() -> None:
    log = open_log(FakeDisk())
    copy(log, placed(0, epoch=1))
    log.assign_epoch(5)
    log.forget_idle_epoch()
    copy(log, placed(1, epoch=1))
    assert log.epochs.entries == [(1, 0)]
    assert log.epoch_at(1) == 1


steps = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0, 0, 0, 1, 7, 40]), st.booleans()), max_size=25
)


@given(steps, st.integers(0, 200))
@settings(max_examples=80, deadline=None)
def test_a_copy_with_gaps_is_read_cut_and_recovered(
    history: list[tuple[int, int, bool]], cut: int
) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored: list[bytes] = []
    pending: list[bytes] = []
    offset = 0
    for more, gap, writes in history:
        offset += gap
        pending.append(placed(offset, 1 + more))
        offset += 1 + more
        if writes:
            copy(log, *pending)
            stored += pending
            pending = []
    assert contents(log) == stored
    assert contents(log, bytes_max=1) == stored
    sync(log)
    disk.crash()
    log = open_log(disk)
    assert contents(log) == stored
    assert not log.damaged
    log.truncate_to(cut)
    kept = [each for each in stored if read_header(each).next_offset <= cut]
    assert contents(log) == kept
