"""Answers to SQS requests: completed one by one or for a whole turn of the event loop, and
counted."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from duolog.model.errors import Refusal
from duolog.observe.metrics import OperationStats
from duolog.ports.http import Deferred
from duolog.sqs_api.faults import INTERNAL, fault_of
from duolog.sqs_api.protocols import WireProtocol
from duolog.sqs_api.request_ids import RequestIds
from duolog.wire.sqs.apis import Action
from duolog.wire.sqs.errors import Fault, fault
from duolog.wire.sqs.messages import Shape
from duolog.wire.sqs.rows import Rows, Table


class Answers:
    """Encodes and counts the answers to one action in one protocol."""

    __slots__ = ("_is_of_batches", "_request_ids", "_stats", "action", "now_ns", "protocol")

    def __init__(
        self,
        protocol: WireProtocol,
        action: Action | None,
        stats: OperationStats,
        request_ids: RequestIds,
        now_ns: Callable[[], int],
    ) -> None:
        """`action`: None if the request could not be authenticated, or names no known action."""
        self.protocol = protocol
        self.action = action
        self._stats = stats
        self._request_ids = request_ids
        self.now_ns = now_ns
        self._is_of_batches = action is not None and action.name.endswith("Batch")

    def succeed(self, answers: Sequence["Answer"], results: Iterable[Shape | None]) -> None:
        """Answer requests of one turn, in order; an action without a result has None."""
        action, success = self.action, self.protocol.success
        assert action is not None
        self._stats.done(answers[0].started_ns, self.now_ns(), len(answers))
        request_ids = self._request_ids.take(len(answers))
        for answer, result, request_id in zip(answers, results, request_ids, strict=True):
            if self._is_of_batches and getattr(result, "failed", None):
                # A batch with a failed entry is a success on the wire, but counts as an error.
                self._stats.failed += 1
            answer.complete(success(action, result, request_id))

    def succeed_with_rows(self, answers: Sequence["Answer"], rows: Rows, table: Table) -> None:
        """Answer like `succeed`, from a table of columns instead of result objects."""
        assert self.action is not None
        self._stats.done(answers[0].started_ns, self.now_ns(), len(answers))
        request_ids = self._request_ids.take(len(answers))
        responses = self.protocol.successes(self.action, rows, table, request_ids)
        for answer, response in zip(answers, responses, strict=True):
            answer.complete(response)

    def fail(self, answer: "Answer", found: Fault) -> None:
        self._stats.done(answer.started_ns, self.now_ns())
        self._stats.failed += 1
        answer.complete(self.protocol.failure(found, self._request_ids.next()))


class Answer(Deferred, eq=False):
    answers: Answers
    content: Any
    """The undecoded request: its body, or its form."""
    started_ns: int
    """When the first request arrived of those handled together with this one."""
    asked: Any = None
    """The decoded request; None until it is decoded."""

    @property
    def is_plain_ascii(self) -> bool:
        """True if all text of the request is known to be ASCII without control characters."""
        return self.answers.protocol.is_plain_ascii(self.content)

    @property
    def is_open(self) -> bool:
        """True while the client still waits for this answer."""
        return self.response is None and not self.is_abandoned

    def done(self, result: Shape | Refusal | None) -> None:
        """Answer with a result or a refusal; an action without a result has None."""
        if isinstance(result, Refusal):
            self.answers.fail(self, fault_of(result))
        else:
            self.answers.succeed((self,), (result,))

    def fail(self) -> None:
        """Answer with an internal error. The event loop reports the bug; the client must hear
        something, too."""
        self._give_up(fault(INTERNAL))

    def give_up(self, refusal: Refusal) -> None:
        self._give_up(fault_of(refusal))

    def _give_up(self, found: Fault) -> None:
        """Answer now, although the action may still complete: its result is then dropped."""
        on_abandoned = self.on_abandoned
        self.answers.fail(self, found)
        self.is_abandoned = True
        if on_abandoned is not None:
            on_abandoned()
