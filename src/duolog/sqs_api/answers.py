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
from duolog.wire.sqs.apis import ACTIONS, Action
from duolog.wire.sqs.errors import Fault, fault
from duolog.wire.sqs.messages import Shape

_OF_BATCHES = frozenset(each.result for each in ACTIONS.values() if each.name.endswith("Batch"))


class Answer(Deferred, eq=False):
    protocol: WireProtocol
    action: Action | None
    """None when it is not known what is asked for."""
    stats: OperationStats
    request_id: bytes
    started_ns: int
    now_ns: Callable[[], int]

    def give_up(self, refusal: Refusal) -> None:
        """Answer though it may still be done: nobody hears of that."""
        on_abandoned = self.on_abandoned
        self.done(refusal)
        self.is_abandoned = True
        if on_abandoned is not None:
            on_abandoned()

    def done(self, result: Shape | Refusal | None) -> None:
        """Answer now; an action without a result has None."""
        if isinstance(result, Refusal):
            self.complete(self._failure(fault_of(result)))
            return
        stats = self.stats
        stats.done(self.started_ns, self.now_ns())
        if type(result) in _OF_BATCHES and getattr(result, "failed", None):
            # A batch of which an entry failed is a success that tells of an error.
            stats.failed += 1
        assert self.action is not None
        self.complete(self.protocol.success(self.action, result, self.request_id))

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
        self.stats.done(self.started_ns, self.now_ns())
        self.stats.failed += 1
        return self.protocol.failure(found, self.request_id)
