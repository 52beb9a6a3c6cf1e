"""The log against a list: random histories with crashes, full disks and everything else.

What was synced is there, in order and byte for byte, after any crash. Nothing is invented.
Every read equals the model's.
"""

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import NamedTuple

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.fakes.disk import FakeDisk, PowerCut
from tests.unit.log.workbench import NOW_MS, append, contents, open_log, sync

from duolog.config.topic import TopicConfig
from duolog.log.log import Log
from duolog.log.quarantine import DamagedRange
from duolog.model.errors import StorageFailed
from duolog.records.builder import build_batch
from duolog.records.header import read_header
from duolog.records.iterator import iter_keys
from duolog.records.record import Record

CONFIG = TopicConfig(
    cleanup_compact=True,
    segment_bytes=700,
    index_interval_bytes=200,
    retention_ms=-1,
    min_cleanable_dirty_ratio=0.0,
)


class Stored(NamedTuple):
    base_offset: int
    next_offset: int
    data: bytes


def stored(data: bytes) -> Stored:
    header = read_header(data)
    return Stored(header.base_offset, header.next_offset, data)


class LogMachine(RuleBasedStateMachine):
    disk: FakeDisk
    log: Log

    @initialize()
    def start(self) -> None:
        self.disk = FakeDisk()
        self.log = open_log(self.disk, CONFIG)
        sync(self.log)
        self.batches: list[Stored] = []
        self.start_offset = 0
        self.recovery_point = 0
        self.written = 0

    def _make(self, sizes: list[int]) -> list[bytearray]:
        made = []
        for size in sizes:
            self.written += 1
            records = [
                Record(b"k%d" % (self.written % 7), b"%d-%d" % (self.written, number) + b"x" * size)
                for number in range(1 + size % 3)
            ]
            made.append(build_batch(records))
        return made

    @rule(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=5))
    def append(self, sizes: list[int]) -> None:
        self.batches += map(stored, append(self.log, *self._make(sizes)))

    @rule(
        sizes=st.lists(st.integers(0, 300), min_size=1, max_size=5),
        operation=st.sampled_from(["write", "open"]),
        skip=st.integers(0, 2),
    )
    def append_to_a_failing_disk(self, sizes: list[int], operation: str, skip: int) -> None:
        batches = self._make(sizes)
        self.disk.fail(operation, errno.ENOSPC, path_part=".log", skip=skip)  # type: ignore[arg-type]
        with suppress(StorageFailed):
            self.batches += map(stored, append(self.log, *batches))
        self.disk.clear_faults()

    @rule()
    def roll(self) -> None:
        if self.log.segments[-1].size:
            self.log.roll()

    @rule()
    def sync(self) -> None:
        sync(self.log)
        assert self.log.durable_offset == self.log.end_offset

    @rule()
    def rest(self) -> None:
        self.log.rest()

    @rule()
    def checkpoint(self) -> None:
        self.log.checkpoint()
        self.recovery_point = self.log.durable_offset

    @rule(data=st.data(), bytes_max=st.integers(1, 2000))
    def read(self, data: st.DataObject, bytes_max: int) -> None:
        offset = data.draw(st.integers(self.start_offset, self.log.end_offset))
        boundaries = [each.next_offset for each in self.batches if each.next_offset >= offset]
        end_offset = data.draw(st.sampled_from([*boundaries, self.log.end_offset]))
        expected = [
            each.data
            for each in self.batches
            if each.next_offset > offset and each.next_offset <= end_offset
        ]
        found = self.log.read(offset, bytes_max, end_offset)
        if found is None:
            assert expected == []
            return
        content = found.file.pread(found.length, found.position)
        assert b"".join(expected).startswith(content)
        assert len(content) >= len(expected[0])
        assert len(content) <= max(bytes_max, len(expected[0]))
        following = [each for each in self.batches if each.next_offset > found.next_offset]
        taken = b"".join(each.data for each in self.batches if each.next_offset > offset)
        rest = b"".join(each.data for each in following)
        assert taken == content + rest

    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start_offset, self.log.end_offset))
        self.log.truncate_to(offset)
        self.batches = [each for each in self.batches if each.next_offset <= offset]
        assert self.log.end_offset <= offset

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        self.start_offset = data.draw(st.integers(self.start_offset, self.log.end_offset))
        self.log.advance_start(self.start_offset)
        self._drop_deleted()

    @rule(keep_bytes=st.integers(0, 3000))
    def expire(self, keep_bytes: int) -> None:
        self.log.config = replace(CONFIG, retention_bytes=keep_bytes)
        for segment in self.log.expire(NOW_MS, self.log.durable_offset):
            for path in segment.paths:
                self.disk.remove(path)
        self.log.config = CONFIG
        assert self.log.start_offset >= self.start_offset
        self.start_offset = self.log.start_offset
        self._drop_deleted()

    @rule(steps=st.none() | st.integers(0, 60), seed=st.integers(0, 1 << 16))
    def compact(self, steps: int | None, seed: int) -> None:
        if steps is not None:
            self.disk.cut_power_after(steps)
        try:
            plan = self.log.plan_compaction(NOW_MS)
            if plan is not None:
                result = plan.build()
                self.log.swap(result)
        except PowerCut:
            self._reopen_after_crash(seed, self._last_of_keys)
            return
        self.disk.cut_power_after(None)
        if plan is not None:
            self._accept_rewritten(self._last_of_keys, result.cleaned_offset)

    @rule(
        steps=st.none() | st.integers(0, 60),
        seed=st.integers(0, 1 << 16),
        one_in=st.integers(1, 20),
    )
    def thin(self, steps: int | None, seed: int, one_in: int) -> None:
        offsets = range(self.log.end_offset)
        wanted = [each for each in offsets if (each * 7919 + seed) % 97 % one_in == 0]
        if steps is not None:
            self.disk.cut_power_after(steps)
        try:
            plan = self.log.plan_thinning(
                lambda first, next_offset: [(each, each + 1) for each in wanted],
                below_offset=self.log.end_offset,
                bytes_min=200,
            )
            if plan is not None:
                self.log.swap(plan.build())
        except PowerCut:
            self._reopen_after_crash(seed, lambda: set(wanted))
            return
        self.disk.cut_power_after(None)
        if plan is not None:
            self._accept_rewritten(lambda: set(wanted), self.log.durable_offset)

    def _last_of_keys(self) -> set[int]:
        return set({key: offset for offset, (key, _) in self._records().items()}.values())

    def _accept_rewritten(self, wanted: Callable[[], set[int]], below_offset: int) -> None:
        """Records may be gone, but none that is wanted or not below, and none has changed."""
        before, kept = self._records(), wanted()
        self.batches = [stored(data) for data in contents(self.log)]
        after = self._records()
        assert after.items() <= before.items()
        for offset in before:
            if offset in kept or offset >= below_offset:
                assert offset in after

    def _records(self) -> dict[int, tuple[bytes | None, bytes]]:
        return {
            offset: (key, bytes(encoded))
            for each in self.batches
            for offset, key, _, encoded in iter_keys(each.data, decompressed_bytes_max=1 << 20)
            if offset >= self.start_offset
        }

    @rule()
    def stop_and_start(self) -> None:
        sync(self.log)
        self.log.close(NOW_MS)
        self.recovery_point = self.log.durable_offset
        self.log = open_log(self.disk, CONFIG, recovery_point=self.recovery_point)
        assert self.log.recovery.scanned_bytes == 0 or self.log.marks.rescan_offset is not None

    @rule()
    def kill_and_start(self) -> None:
        end_offset = self.log.end_offset
        self.log = open_log(self.disk, CONFIG, recovery_point=self.recovery_point)
        last = max([self.start_offset, *(each.next_offset for each in self.batches)])
        assert last <= self.log.end_offset <= end_offset
        assert self._damaged() == []

    @rule(seed=st.none() | st.integers(0, 1 << 16))
    def crash(self, seed: int | None) -> None:
        self._reopen_after_crash(seed)

    def _reopen_after_crash(
        self, seed: int | None, wanted: Callable[[], set[int]] | None = None
    ) -> None:
        """`wanted`: what a rewriting that was under way may not have dropped."""
        durable_offset = self.log.durable_offset
        self.disk.crash(None if seed is None else Random(seed))
        self.log = log = open_log(self.disk, CONFIG, recovery_point=self.recovery_point)
        assert log.start_offset >= self.start_offset
        assert log.end_offset >= durable_offset or not self.batches
        assert all(each.first_offset >= durable_offset for each in log.damaged)
        if damaged := self._damaged():
            log.truncate_to(max(damaged[0].first_offset, self.start_offset))
        if wanted is not None:
            known = self._records()
            self.batches = [each for each in self.batches if each.next_offset <= log.end_offset]
            self._accept_rewritten(wanted, durable_offset)
            assert self._records().items() <= known.items()
        else:
            found = [stored(data) for data in contents(log)]
            assert found == self.batches[: len(found)]
            assert all(each.base_offset >= durable_offset for each in self.batches[len(found) :])
            self.batches = found

    def _damaged(self) -> list[DamagedRange]:
        """What is damaged and not deleted anyway."""
        return [each for each in self.log.damaged if each.next_offset > self.start_offset]

    def _drop_deleted(self) -> None:
        self.batches = [each for each in self.batches if each.next_offset > self.start_offset]

    @precondition(lambda self: hasattr(self, "log"))
    @invariant()
    def every_batch_can_be_read(self) -> None:
        assert contents(self.log) == [each.data for each in self.batches]
        assert self.log.start_offset == self.start_offset
        assert self.log.durable_offset <= self.log.end_offset


TestLogModel = LogMachine.TestCase
# A failing history is readable as it is, while shrinking it takes minutes.
TestLogModel.settings = settings(
    max_examples=120,
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
