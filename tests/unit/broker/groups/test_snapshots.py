"""A snapshot and what follows it say what the whole log says, whatever happened to either."""

import errno
from collections.abc import Generator, Iterator
from random import Random
from typing import TypeVar

import pytest
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock
from tests.fakes.log_copy import DAY_MS, PATH, KeyValue, LogCopy

from duolog.broker.admission import Admission, at_once
from duolog.broker.groups.kept_records import KeptRecords
from duolog.broker.groups.log_partition import SNAPSHOT
from duolog.broker.groups.prefix import reading
from duolog.broker.groups.read_ahead import ReadAhead
from duolog.core.groups.formats import encode
from duolog.core.groups.ledger import (
    CommittedOffset,
    GroupForgotten,
    GroupMetadata,
    MetadataChanged,
    OffsetCommitted,
    OffsetForgotten,
    TopicPartition,
)
from duolog.core.groups.newest_records import NewestRecords
from duolog.core.groups.snapshot import UnusableSnapshot, decode_snapshot, encode_snapshot
from duolog.log.file_names import offset_name
from duolog.records.iterator import iter_records
from duolog.records.record import Record

Result = TypeVar("Result")


async def run(steps: Generator[None, None, Result]) -> Result:
    return at_once(steps)


async def read(copy: LogCopy, kept: KeptRecords) -> dict[bytes, bytes]:
    newest = await kept.recall(copy.stored, run)
    return dict(at_once(reading(newest, copy.stored, copy.log.end_offset)))


async def read_everything(copy: LogCopy) -> dict[bytes, bytes]:
    newest = NewestRecords(copy.log.start_offset)
    return dict(at_once(reading(newest, copy.stored, copy.log.end_offset)))


def records_of(copy: LogCopy) -> list[Record]:
    return [
        record
        for batch in copy.log.batches(copy.log.start_offset, 1 << 20)
        for record in iter_records(batch, decompressed_bytes_max=1 << 20)
    ]


CONTROL_KEY = b"\0\0\0\1"


class FixedPrice(ReadAhead):
    """Reading one record costs a nanosecond."""

    def _measure(self, records: int, spent_ns: int) -> None:
        self._record_cost_ns = 1


def read_ahead(copy: LogCopy, kept: KeptRecords, *, records: int = 1) -> ReadAhead:
    """A snapshot is due after so many records."""
    clock = SetClock()
    ahead = FixedPrice(clock, Admission(clock), kept, lambda: [copy.stored], read_cost_ns=records)
    ahead._measure(0, 0)
    return ahead


def committed(group: int, partition: int, offset: int) -> KeyValue:
    at = TopicPartition("t", partition)
    return encode(OffsetCommitted(f"g{group}", at, CommittedOffset(offset, -1, "", offset, None)))


def expiring(group: int, offset: int) -> KeyValue:
    at = TopicPartition("t", 0)
    return encode(OffsetCommitted(f"g{group}", at, CommittedOffset(offset, -1, "m", offset, 5)))


def forgotten(group: int, partition: int) -> KeyValue:
    return encode(OffsetForgotten(f"g{group}", TopicPartition("t", partition)))


def rebalanced(group: int, generation: int) -> KeyValue:
    metadata = GroupMetadata("consumer", generation, None, None, 1, ())
    return encode(MetadataChanged(f"g{group}", metadata))


class History:
    """Random commits, deletions, elections, truncations and compactions."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.copy = LogCopy(FakeDisk())
        self.kept = KeptRecords()
        self.number = 0
        self.log: list[tuple[int, KeyValue | None]] = []
        """Every record that is not truncated, whatever compaction made of it."""

    async def step(self) -> None:
        copy, random = self.copy, self.random
        match random.choice(
            ["append"] * 10
            + ["delete group", "control", "elect", "cut", "compact", "compact", "time", "restart"]
            + ["look"] * 3
            + ["read", "part", "forget", "damage", "delete records"]
        ):
            case "append":
                self.append(*(self.record() for _ in range(random.randrange(1, 9))))
            case "delete group":
                group = random.randrange(6)
                gone = [forgotten(group, each) for each in range(3)]
                self.append(*gone, encode(GroupForgotten(f"g{group}")))
            case "control":
                copy.append((CONTROL_KEY, b"\0\0\0\0\0\0"), control=True)
                self.log.append((copy.log.end_offset - 1, None))
            case "elect":
                copy.elect()
            case "cut":
                self.cut()
            case "compact":
                copy.compact()
            case "time":
                copy.now_ms += 2 * DAY_MS
            case "restart":
                copy.restart()
            case "look":
                await read_ahead(copy, self.kept).look()
            case "read":
                await read(copy, self.kept)
            case "part":
                newest = await self.kept.recall(copy.stored, run)
                steps = reading(newest, copy.stored, copy.log.end_offset)
                for _ in range(random.randrange(20)):
                    next(steps, None)
            case "forget":
                self.kept = KeptRecords()
            case "damage":
                self.damage_snapshot()
            case "delete records":
                log = copy.log
                log.advance_start(random.randint(log.start_offset, log.end_offset) // 2)
                self.log = [each for each in self.log if each[0] >= log.start_offset]

    def record(self) -> KeyValue:
        random = self.random
        self.number += 1
        group, partition = random.randrange(6), random.randrange(3)
        match random.randrange(6):
            case 0:
                return forgotten(group, partition)
            case 1:
                return rebalanced(group, self.number)
            case 2:
                return expiring(group, self.number)
            case _:
                return committed(group, partition, self.number)

    def append(self, *records: KeyValue) -> None:
        first = self.copy.log.end_offset
        self.copy.append(*records)
        self.log += [(first + at, record) for at, record in enumerate(records)]

    def cut(self) -> None:
        """Goes back to before any batch that compaction has not seen."""
        least = max(self.copy.log.marks.cleaned_offset, self.copy.log.start_offset)
        self.copy.cut(self.random.randint(least, self.copy.log.end_offset))
        self.log = [each for each in self.log if each[0] < self.copy.log.end_offset]

    def damage_snapshot(self) -> None:
        disk = self.copy.disk
        names = [name for name in disk.list_names(PATH) if name.endswith(SNAPSHOT)]
        if names:
            file = disk.open(f"{PATH}/{self.random.choice(names)}")
            file.pwrite(b"?", self.random.randrange(file.size()))

    @property
    def truth(self) -> dict[bytes, bytes]:
        newest: dict[bytes, bytes | None] = dict(record for _, record in self.log if record)
        return {key: value for key, value in newest.items() if value is not None}


@pytest.fixture(autouse=True)
def cheap_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duolog.broker.groups.read_ahead.ROW_COST_NS", 0)


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets compaction and truncation happen in the midst of reading."""
    monkeypatch.setattr("duolog.broker.groups.prefix.READ_BYTES_MAX", 200)
    monkeypatch.setattr("duolog.core.groups.newest_records.STEP_RECORDS", 3)
    monkeypatch.setattr("duolog.core.groups.snapshot.PIECE_ROWS", 4)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.usefixtures("short_pieces")
async def test_what_was_kept_and_the_rest_say_what_everything_says(seed: int) -> None:
    history = History(seed)
    for _ in range(80):
        await history.step()
        if history.random.randrange(4) == 0:
            assert await read(history.copy, history.kept) == history.truth
    assert await read(history.copy, history.kept) == history.truth
    assert await read(history.copy, KeptRecords()) == history.truth
    assert await read_everything(history.copy) == history.truth


async def filled(commits: int = 100) -> tuple[LogCopy, KeptRecords]:
    """A copy with commits of three groups and a snapshot of them."""
    copy, kept = LogCopy(FakeDisk()), KeptRecords()
    for number in range(commits):
        copy.append(committed(number % 3, 0, number))
    await read_ahead(copy, kept).look()
    return copy, kept


def offsets_read(copy: LogCopy, kept: KeptRecords, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Offsets from which the log is read from now on."""
    begun: list[int] = []
    original = copy.log.batches

    def noting(offset: int, bytes_max: int) -> Iterator[memoryview]:
        begun.append(offset)
        return original(offset, bytes_max)

    monkeypatch.setattr(type(copy.log), "batches", lambda _, *where: noting(*where))
    return begun


def snapshots(copy: LogCopy) -> list[str]:
    return [name for name in copy.disk.list_names(PATH) if name.endswith(SNAPSHOT)]


async def test_only_what_follows_the_snapshot_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    copy, _ = await filled()
    copy.append(committed(1, 1, 7))
    begun = offsets_read(copy, KeptRecords(), monkeypatch)
    assert len(await read(copy, KeptRecords())) == 4
    assert begun == [100]


async def test_what_is_in_memory_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    copy, kept = await filled()
    for name in snapshots(copy):
        copy.disk.remove(f"{PATH}/{name}")
    copy.elect()
    copy.append(committed(1, 1, 7))
    begun = offsets_read(copy, kept, monkeypatch)
    assert len(await read(copy, kept)) == 4
    assert begun == [100]


async def test_a_reading_that_was_broken_off_goes_on_in_the_next_tenure(
    monkeypatch: pytest.MonkeyPatch, short_pieces: None
) -> None:
    copy, kept = LogCopy(FakeDisk()), KeptRecords()
    for number in range(100):
        copy.append(committed(number % 3, 0, number))
    newest = await kept.recall(copy.stored, run)
    steps = reading(newest, copy.stored, copy.log.end_offset)
    for _ in range(50):
        next(steps)
    steps.close()
    copy.elect()
    copy.append(committed(1, 1, 7))
    begun = offsets_read(copy, kept, monkeypatch)
    assert len(await read(copy, kept)) == 4
    assert begun[0] > 40


@pytest.mark.parametrize("damage", ["checksum", "version", "cut", "rows"])
async def test_a_snapshot_that_is_damaged_or_unknown_is_not_used(
    damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, _ = await filled()
    (name,) = snapshots(copy)
    data = await copy.stored.snapshot(100)
    assert data is not None
    body = {
        "checksum": data[1],
        "version": data[1].replace(b"\x95\x01", b"\x95\x02", 1),
        "cut": data[1][:-9],
        "rows": data[1][: data[1].index(b"\0\0", 6)],
    }[damage]
    copy.log.write_snapshot(SNAPSHOT, 100, body)
    if damage == "checksum":
        copy.disk.open(f"{PATH}/{name}").pwrite(b"?", 40)
    begun = offsets_read(copy, KeptRecords(), monkeypatch)
    assert len(await read(copy, KeptRecords())) == 3
    assert begun[0] == 0


async def test_an_older_snapshot_serves_when_the_newest_is_damaged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy, kept = await filled()
    for number in range(50):
        copy.append(committed(0, 1, number))
    await read_ahead(copy, kept).look()
    copy.log.write_snapshot(SNAPSHOT, 150, b"\0\0\0\2\x91\x09")
    begun = offsets_read(copy, KeptRecords(), monkeypatch)
    assert len(await read(copy, KeptRecords())) == 4
    assert begun[0] == 100


async def test_a_deleted_group_stays_deleted_when_compaction_removed_the_deletion() -> None:
    copy, kept = await filled()
    copy.append(forgotten(1, 0))
    copy.append(committed(2, 0, 500))
    copy.compact()
    copy.now_ms += 2 * DAY_MS
    copy.append(committed(2, 0, 501))
    copy.compact()
    assert offset_name(100) + "." + SNAPSHOT in snapshots(copy)
    left = {record.offset for record in records_of(copy)}
    assert 100 not in left
    for memory in (kept, KeptRecords()):
        assert len(await read(copy, memory)) == 2


async def test_compaction_in_the_midst_of_reading_brings_no_group_back(short_pieces: None) -> None:
    copy, kept = LogCopy(FakeDisk()), KeptRecords()
    copy.append(committed(0, 0, 1))
    for number in range(50):
        copy.append(committed(1, 0, number))
    copy.append(forgotten(0, 0))
    copy.compact()
    copy.now_ms += 2 * DAY_MS
    copy.append(committed(1, 0, 51))
    newest = await kept.recall(copy.stored, run)
    newest.values[b"gone"] = b"its deletion is compacted away"
    steps = reading(newest, copy.stored, copy.log.end_offset)
    next(steps)
    copy.compact()
    assert len(await read(copy, kept)) == 1


async def test_nothing_beyond_damage_is_written_to_a_snapshot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy, kept = LogCopy(FakeDisk()), KeptRecords()
    for number in range(30):
        copy.append(committed(number, 0, number))
    segment = copy.log.segments[0]
    (position, *_) = (at for at, header in segment.headers_from(0) if header.base_offset == 3)
    segment.file.pwrite(b"??", position + 80)
    await read_ahead(copy, kept).look()
    assert snapshots(copy) == []
    assert len(await read(copy, kept)) == 29
    # It would be read anew each time.
    begun = offsets_read(copy, kept, monkeypatch)
    copy.append(committed(0, 0, 31))
    await read_ahead(copy, kept).look()
    assert begun == []


async def test_a_snapshot_waits_until_it_is_worth_its_cost() -> None:
    copy, kept = LogCopy(FakeDisk()), KeptRecords()
    ahead = read_ahead(copy, kept, records=100)
    for number in range(99):
        copy.append(committed(number, 0, number))
    await ahead.look()
    assert snapshots(copy) == []
    copy.append(committed(1, 0, 1))
    await ahead.look()
    assert snapshots(copy) == [f"{offset_name(100)}.{SNAPSHOT}"]


async def test_two_readers_may_take_turns(short_pieces: None) -> None:
    copy, kept = LogCopy(FakeDisk()), KeptRecords()
    for number in range(200):
        copy.append(*(committed(number % 7, each, number) for each in range(5)))
    newest = await kept.recall(copy.stored, run)
    random = Random(1)
    readers = [reading(newest, copy.stored, copy.log.end_offset) for _ in range(2)]
    found: list[dict[bytes, bytes]] = []
    while readers:
        reader = random.choice(readers)
        try:
            next(reader)
        except StopIteration as end:
            found.append(dict(end.value))
            readers.remove(reader)
    assert found[0] == found[1] == await read_everything(copy)


async def test_memory_is_bounded_and_what_is_dropped_is_in_the_snapshot() -> None:
    copy, kept = LogCopy(FakeDisk()), KeptRecords(bytes_max=1_000)
    for number in range(100):
        copy.append(committed(number, 0, number))
    ahead = read_ahead(copy, kept)
    await ahead.look()
    assert kept.of(copy.stored).newest is None
    assert len(await read(copy, kept)) == 100


async def test_what_was_used_longest_ago_is_dropped_first() -> None:
    copies = [LogCopy(FakeDisk(), index=index) for index in range(3)]
    for copy in copies:
        for number in range(10):
            copy.append(committed(number, 0, number))
    await read(copies[0], kept := KeptRecords())
    size = kept.of(copies[0].stored).newest
    assert size is not None
    kept = KeptRecords(bytes_max=2 * size.size_bytes + 100)
    for copy in copies:
        await read(copy, kept)
        kept.release(copy.stored)
    assert [kept.of(copy.stored).newest is None for copy in copies] == [True, False, False]


def test_an_encoded_snapshot_is_what_was_there_at_the_call() -> None:
    newest = NewestRecords(5)
    newest.skip_to(9, 3)
    newest.values[b"k"] = b"v"
    steps = encode_snapshot(newest)
    newest.values[b"later"] = b"w"
    decoded = at_once(decode_snapshot(at_once(steps)))
    assert decoded.values == {b"k": b"v"}
    assert (decoded.start_offset, decoded.offset, decoded.epoch) == (5, 9, 3)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\\9", b"\0\0\0\1\x90", b"\xff" * 40])
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(UnusableSnapshot):
        at_once(decode_snapshot(data))


async def test_what_was_read_of_a_longer_log_is_not_used() -> None:
    copy, kept = await filled()
    await read(copy, kept)
    copy.log.truncate_to(90)
    assert dict(await read(copy, kept)) == await read_everything(copy)


async def test_what_is_kept_holds_no_file_of_a_segment_that_was_compacted_away() -> None:
    copy, kept = await filled()
    newest = await kept.recall(copy.stored, run)
    assert newest.version is None
    for number in range(20):
        copy.append(committed(0, 1, number))
    kept = KeptRecords()
    for name in snapshots(copy):
        copy.disk.remove(f"{PATH}/{name}")
    # Begun, and given up.
    newest = await kept.recall(copy.stored, run)
    assert newest.version is not None
    copy.compact()
    kept.keep_only([copy.stored])
    assert kept.of(copy.stored).newest is None


async def test_a_snapshot_that_was_cut_away_is_written_anew() -> None:
    copy, kept = await filled()
    copy.cut(90)
    assert snapshots(copy) == []
    await read_ahead(copy, kept).look()
    assert snapshots(copy) == [f"{offset_name(90)}.{SNAPSHOT}"]


async def test_a_disk_that_cannot_read_snapshots_has_the_log() -> None:
    copy, _ = await filled()
    copy.disk.fail("open", path_part=SNAPSHOT, times=9)
    assert len(await read(copy, KeptRecords())) == 3


async def test_a_full_disk_costs_the_snapshot_alone() -> None:
    copy, kept = LogCopy(FakeDisk()), KeptRecords()
    copy.append(committed(0, 0, 1))
    copy.disk.fail("write", errno.ENOSPC, path_part=SNAPSHOT)
    await read_ahead(copy, kept).look()
    assert snapshots(copy) == []
    copy.append(committed(0, 0, 2))
    await read_ahead(copy, kept).look()
    assert snapshots(copy) != []


async def test_a_copy_out_of_sync_is_not_read_ahead() -> None:
    copy, kept = LogCopy(FakeDisk()), KeptRecords()
    copy.append(committed(0, 0, 1))
    copy.in_sync = (2,)
    await read_ahead(copy, kept).look()
    assert snapshots(copy) == []


async def test_memory_is_nearer_to_the_end_than_the_snapshot() -> None:
    copy, kept = LogCopy(FakeDisk()), KeptRecords()
    ahead = read_ahead(copy, kept, records=100)
    for number in range(100):
        copy.append(committed(number, 0, number))
    await ahead.look()
    for number in range(30):
        copy.append(committed(number, 0, number))
    await ahead.look()
    newest = kept.of(copy.stored).newest
    assert newest is not None
    assert newest.offset == 130
    assert snapshots(copy) == [f"{offset_name(100)}.{SNAPSHOT}"]
