"""The answer to one request, from its arrival until it is counted and sent."""

from collections.abc import Callable
from typing import Any

from duolog.model.errors import Refusal
from duolog.observe.metrics import OperationStats
from duolog.ports.http import Deferred, Response
from duolog.sqs_api.context import Context
from duolog.sqs_api.dispatch import Waiting
from duolog.sqs_api.faults import INTERNAL, fault_of
from duolog.sqs_api.protocols import WireProtocol
from duolog.wire.sqs.apis import Action
from duolog.wire.sqs.errors import Fault, fault
from duolog.wire.sqs.messages import Shape


class Answer(Deferred):
    __slots__ = (
        "_action",
        "_now_ns",
        "_pending",
        "_protocol",
        "_request_id",
        "_stats",
        "started_ns",
    )

    def __init__(
        self,
        protocol: WireProtocol,
        action: Action | None,
        stats: OperationStats,
        request_id: str,
        started_ns: int,
        now_ns: Callable[[], int],
    ) -> None:
        """Without an action when it is not known what is asked for."""
        # By name: `super` takes as long again as all of this.
        Deferred.__init__(self)
        self._protocol = protocol
        self._action = action
        self._stats = stats
        self._request_id = request_id
        self.started_ns = started_ns
        self._now_ns = now_ns
        self._pending: dict[Answer, None] | None = None

    def wait_in(self, pending: "dict[Answer, None]") -> None:
        """It is among these until it is answered or nobody wants it any more."""
        pending[self] = None
        self._pending = pending

    def complete(self, response: Response) -> None:
        if self._pending is not None:
            self._pending.pop(self, None)
        Deferred.complete(self, response)

    def abandon(self) -> None:
        if self._pending is not None:
            self._pending.pop(self, None)
        Deferred.abandon(self)

    def give_up(self, refusal: Refusal) -> None:
        """Answer though it may still be done: nobody hears of that."""
        on_abandoned = self.on_abandoned
        self.done(refusal)
        self._is_abandoned = True
        if on_abandoned is not None:
            on_abandoned()

    def done(self, result: Shape | Refusal | None) -> None:
        """Answer now; an action without a result has None."""
        if isinstance(result, Refusal):
            self.complete(self._failure(fault_of(result)))
            return
        stats = self._stats
        stats.done(self.started_ns, self._now_ns())
        if getattr(result, "failed", None):
            # A batch of which an entry failed is a success that tells of an error.
            stats.failed += 1
        assert self._action is not None
        self.complete(self._protocol.success(self._action, result, self._request_id))

    async def after(
        self, handle: Waiting, context: Context, asked: Any, counted: Callable[[object], None]
    ) -> None:
        """Answer when the action is through; what it came to is counted first."""
        result: Shape | Refusal | None
        try:
            result = await handle(context, asked)
        except Refusal as refusal:
            result = refusal
        except Exception:
            # A bug is the event loop's to report, but the client has to hear something too.
            self.complete(self._failure(fault(INTERNAL)))
            raise
        counted(result)
        self.done(result)

    def _failure(self, found: Fault) -> Response:
        self._stats.done(self.started_ns, self._now_ns())
        self._stats.failed += 1
        return self._protocol.failure(found, self._request_id)
