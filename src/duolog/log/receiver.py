"""Append path of a follower's log: batches whose offsets a leader has assigned.

Log derives from it. Unlike a leader's log, a copy may have gaps where its leader's has them,
because records were compacted or thinned there.
"""

from collections.abc import Iterable, Sequence

from duolog.config.topic import TopicConfig
from duolog.log.appender import Appender
from duolog.log.epochs import EpochHistory, write_epochs
from duolog.log.recovery import Recovered
from duolog.log.refusals import not_written
from duolog.ports.disk import Disk, is_no_room
from duolog.records.header import BatchHeader


class Receiver(Appender):
    __slots__ = ("_has_epochs_file", "epochs")

    def __init__(
        self,
        disk: Disk,
        path: str,
        config: TopicConfig,
        recovered: Recovered,
        *,
        recovery_point: int,
    ) -> None:
        super().__init__(disk, path, config, recovered, recovery_point=recovery_point)
        self.epochs: EpochHistory = recovered.epochs
        self._has_epochs_file = recovered.has_epochs_file

    def append_copied(self, batches: Sequence[tuple[BatchHeader, memoryview]], now_ms: int) -> None:
        """Appends verified batches as they are; their offsets ascend from the log's end on.

        StorageFailed means that at most the batches before the failed one were written.
        """
        try:
            for header, batch in batches:
                if header.base_offset != self.staged_end_offset:
                    self.write_staged(now_ms)
                    self._leave_gap(header, now_ms)
                self._staged.append(batch)
                self._staged_headers.append(header)
                self._staged_bytes += len(batch)
                self.staged_end_offset = header.next_offset
            self.write_staged(now_ms)
        except OSError as error:
            # No segment could be begun; nothing is staged then.
            raise not_written("the log", error) from error
        finally:
            self._take_epochs(header for header, _ in batches)

    def _take_epochs(self, headers: Iterable[BatchHeader]) -> None:
        """Notes the leader epochs that begin with one of the batches that were written."""
        begun = [
            self.epochs.replay(header) for header in headers if header.base_offset < self.end_offset
        ]
        if any(begun):
            self.save_epochs()

    def skip_to(self, offset: int) -> None:
        """Continues at the offset, because the leader has no earlier records any more.

        A segment begins there, so that the offsets are not assigned again after a restart.
        """
        assert not self._staged
        if offset > self.end_offset:
            try:
                following = self._create_segment(offset)
            except OSError as error:
                raise not_written("the log", error) from error
            self._active.end_offset = offset
            self.end_offset = self.staged_end_offset = offset
            self._follow_with(following)
            self._set_active(self._active)

    def _leave_gap(self, header: BatchHeader, now_ms: int) -> None:
        """Leaves a gap before the next batch, which is not at the log's end. Nothing is staged."""
        active = self._active
        if active.size and (
            active.size + header.size > self._roll_above_bytes
            or now_ms >= self._roll_from_ms
            or header.next_offset > self._roll_above_offset
        ):
            # Rolling after the gap would look as if the sealed segment had lost its end.
            self.roll()
            active = self._active
        # The dense index assumes that there are no gaps.
        active.forget_tail()
        active.end_offset = self.end_offset = self.staged_end_offset = header.base_offset

    def forget_idle_epoch(self) -> None:
        """Forgets an epoch in which nothing was written, before another leader is followed.

        The new leader's log may go on with records of an earlier epoch.
        """
        if self.epochs.truncate_end(self.end_offset) and self._has_epochs_file:
            self.save_epochs()

    def save_epochs(self) -> bool:
        """Writes the epochs, durable with the next sync. False if the disk has no room for them.

        If an older file is there, nothing more counts as durable until it is replaced: a restart
        would trust its epochs for records of a later one. Without a file it reads the batches.
        """
        try:
            self._unsynced.append(write_epochs(self._disk, self._path, self.epochs))
        except OSError as error:
            if not is_no_room(error):
                raise
            self._puts_off_sync = self._has_epochs_file or self._is_released
            return False
        self._directory_changed = True
        self._has_epochs_file = True
        self._puts_off_sync = self._is_released
        return True

    @property
    def lacks_epochs(self) -> bool:
        """True while the epochs on disk are older than the log's."""
        return self._puts_off_sync and not self._is_released

    def _may_sync(self) -> bool:
        return not self._is_released and self.save_epochs()
