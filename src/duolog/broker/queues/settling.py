"""Settles received messages: deletes them, or changes their visibility time-out."""

from collections.abc import Callable, Sequence
from functools import partial

from duolog.broker.queues.commits import Commits
from duolog.broker.queues.queue_partition import QueuePartition, not_led
from duolog.broker.queues.queue_state import QueueState
from duolog.broker.queues.receipts import Receipt, receipt_invalid
from duolog.core.queues.held import Held
from duolog.model.errors import Refusal
from duolog.model.queue_errors import InvalidParameterValue, MessageNotInflight
from duolog.records.changes import Deleted, VisibilityChanged

VISIBILITY_MS_MAX = 43_200_000

Done = Callable[[list[Refusal | None] | Refusal], None]
"""Takes a result for each receipt, or the refusal of all of them."""

Deleting = tuple[Sequence[str], Done]
"""A delete request of this turn: its handles and callback."""

Doomed = dict[QueuePartition, dict[int, None]]
"""Partition → offsets to delete, without repeats."""


class Settling:
    __slots__ = ("_gathered", "_on_settled", "_queue")

    def __init__(
        self, queue: QueueState, on_settled: Callable[[QueuePartition, int], None]
    ) -> None:
        self._queue = queue
        self._gathered: list[Deleting] = []
        self._on_settled = on_settled
        """Called with the time after a settlement that may make other messages available."""

    def delete(
        self,
        handles: Sequence[str],
        done: Done,
    ) -> None:
        """Deletes messages; answers with a result per handle, once all deletions are committed."""
        if not self._gathered:
            self._queue.turn.gather(self)
        self._gathered.append((handles, done))

    def flush(self) -> None:
        """Serves this turn's delete requests, with one change if there is one partition."""
        gathered, self._gathered = self._gathered, []
        queue = self._queue
        if len(queue.partitions) == 1 and queue.is_writable and not queue.is_gone:
            self._delete(gathered)
            return
        # Request by request, so that a failure is reported only to the request that it concerns.
        for each in gathered:
            queue.journaled(partial(self._delete, [each]), each[1])

    def _delete(self, gathered: Sequence[Deleting]) -> None:
        receipts = self._queue.receipts
        doomed: Doomed = {}
        answers = []
        for handles, done in gathered:
            results: list[Refusal | None] = []
            while len(results) < len(handles):
                try:
                    count = self._doom(receipts.decode_from(handles, len(results)), doomed)
                    results += [None] * count
                except Refusal as refusal:
                    results.append(refusal.with_traceback(None))
            answers.append((results, done))
        commits = Commits(partial(_answer_all, answers))
        for partition, offsets in doomed.items():
            if offsets:
                partition.change(Deleted(tuple(offsets)))
            commits.add_changes(partition)
            if offsets and self._queue.config.fifo:
                # The next messages of these groups are available now.
                self._on_settled(partition, self._queue.clock.now_ms())
        commits.close()

    def _doom(self, receipt: Receipt, doomed: Doomed) -> int:
        """Marks a receipt's messages for deletion; returns how many: all, or only the first."""
        partition, held, count = self._named_by(receipt)
        # Also for messages deleted before: the answer waits for that to be committed.
        offsets = doomed.get(partition)
        if offsets is None:
            offsets = doomed[partition] = {}
        # None: deleted already, which counts as success.
        if held is not None:
            is_fifo = self._queue.config.fifo
            if _is_latest(held, receipt) and (held.is_in_flight or not is_fifo):
                if count == 1:
                    offsets[receipt.offsets[0]] = None
                else:
                    offsets.update(dict.fromkeys(receipt.offsets))
            elif is_fifo:
                raise _expired()
        return count

    def change_visibility(
        self,
        changes: Sequence[tuple[str, int]],
        done: Done,
    ) -> None:
        """Changes visibility time-outs, in ms from now; zero makes a message visible at once."""
        self._queue.journaled(lambda: self._change_visibility(changes, done), done)

    def _change_visibility(
        self,
        changes: Sequence[tuple[str, int]],
        done: Done,
    ) -> None:
        now_ms = self._queue.clock.now_ms()
        results: list[Refusal | None] = []
        commits = Commits(lambda failure: done(failure or results))
        touched: dict[QueuePartition, None] = {}
        for handle, visibility_ms in changes:
            refusal = None
            try:
                receipt = self._queue.receipts.decode(handle)
                partition, held, _ = self._named_by(receipt)
                _check_hidden(held, receipt, now_ms + visibility_ms)
                offset = receipt.offsets[0]
                partition.change(VisibilityChanged(offset, now_ms + visibility_ms))
                touched[partition] = None
            except Refusal as found:
                refusal = found.with_traceback(None)
            results.append(refusal)
        for partition in touched:
            commits.add_changes(partition)
            self._on_settled(partition, now_ms)
        commits.close()

    def _named_by(self, receipt: Receipt) -> tuple[QueuePartition, Held | None, int]:
        """Finds a receipt's messages: their partition, their held state (None if done), and how
        many share that state: all, or else only the first counts."""
        queue = self._queue
        first = receipt.offsets[0]
        partition = queue.partition(receipt.partition)
        if partition is None:
            # In a cluster the partition may be new, and this node has yet to hear of it.
            is_invalid = queue.is_only_node and queue.has_all_partitions
            raise receipt_invalid() if is_invalid else not_led()
        data = partition.data
        if receipt.epoch != data.leader_epoch:
            if receipt.epoch > data.leader_epoch:
                # Another node leads now and has handed the message out: this node's older state
                # must not decide.
                raise not_led()
            if data.log.epoch_at(first) > receipt.epoch:
                # The message was lost; a later leader wrote another one at its offset.
                return partition, None, 1
        elif len(receipt.offsets) > 1:
            held = partition.delivery.held_each(receipt.offsets)
            if held.count(held[0]) == len(held):
                return partition, held[0], len(held)
        return partition, partition.delivery.held(first), 1


def _answer_all(
    answers: Sequence[tuple[list[Refusal | None], Done]], failure: Refusal | None
) -> None:
    for results, done in answers:
        done(failure or results)


def _check_hidden(held: Held | None, receipt: Receipt, deadline_ms: int) -> None:
    if held is None:
        raise InvalidParameterValue(
            "Value for parameter ReceiptHandle is invalid. Reason: Message does not exist"
            " or is not available for visibility timeout change."
        )
    if not held.is_in_flight or not _is_latest(held, receipt):
        raise MessageNotInflight("The message is no longer in flight by this delivery.")
    if deadline_ms > held.received_ms + VISIBILITY_MS_MAX:
        raise InvalidParameterValue(
            "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
        )


def _expired() -> InvalidParameterValue:
    return InvalidParameterValue(
        "Value for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
    )


def _is_latest(held: Held, receipt: Receipt) -> bool:
    """True if the receipt is for the latest delivery."""
    return held.receive_count == receipt.receive_count and held.received_ms == receipt.received_ms
