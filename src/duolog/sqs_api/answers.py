"""Answers to requests: given one by one, or to all that came together, and counted."""

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
    """How requests for one action are answered by one protocol."""

    __slots__ = ("_is_of_batches", "_request_ids", "_stats", "action", "now_ns", "protocol")

    def __init__(
        self,
        protocol: WireProtocol,
        action: Action | None,
        stats: OperationStats,
        request_ids: RequestIds,
        now_ns: Callable[[], int],
    ) -> None:
        """`action`: None where it is not known what is asked for."""
        self.protocol = protocol
        self.action = action
        self._stats = stats
        self._request_ids = request_ids
        self.now_ns = now_ns
        self._is_of_batches = action is not None and action.name.endswith("Batch")

    def succeed(self, answers: Sequence["Answer"], results: Iterable[Shape | None]) -> None:
        """Of requests that came together; an action without a result has None."""
        action, success = self.action, self.protocol.success
        assert action is not None
        self._stats.done(answers[0].started_ns, self.now_ns(), len(answers))
        request_ids = self._request_ids.take(len(answers))
        for answer, result, request_id in zip(answers, results, request_ids, strict=True):
            if self._is_of_batches and getattr(result, "failed", None):
                # A batch of which an entry failed is a success that tells of an error.
                self._stats.failed += 1
            answer.complete(success(action, result, request_id))

    def succeed_with_rows(self, answers: Sequence["Answer"], rows: Rows, table: Table) -> None:
        """As `succeed`, with results that are made of columns."""
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
    """Of the request, as it came."""
    started_ns: int
    """When the first of those came that are handled together."""
    asked: Any = None
    """What it says, once it is known."""

    @property
    def is_plain_ascii(self) -> bool:
        """Whether all text of the request is ASCII, and certainly without control characters."""
        return self.answers.protocol.is_plain_ascii(self.content)

    @property
    def is_open(self) -> bool:
        """Whether somebody still waits for it."""
        return self.response is None and not self.is_abandoned

    def done(self, result: Shape | Refusal | None) -> None:
        """Answer now; an action without a result has None."""
        if isinstance(result, Refusal):
            self.answers.fail(self, fault_of(result))
        else:
            self.answers.succeed((self,), (result,))

    def fail(self) -> None:
        """A bug is the event loop's to report, but the client has to hear something too."""
        self._give_up(fault(INTERNAL))

    def give_up(self, refusal: Refusal) -> None:
        self._give_up(fault_of(refusal))

    def _give_up(self, found: Fault) -> None:
        """Answer though it may still be done: nobody hears of that."""
        on_abandoned = self.on_abandoned
        self.answers.fail(self, found)
        self.is_abandoned = True
        if on_abandoned is not None:
            on_abandoned()
