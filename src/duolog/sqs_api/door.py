"""The SQS door: one handler for an HTTP server, for both protocols and all actions."""

import asyncio
import uuid
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any

from duolog.broker.queues.queues import Queues
from duolog.broker.usage.meter import NO_METER, NoMeter
from duolog.model.errors import Refusal
from duolog.observe.metrics import Metrics
from duolog.ports.clock import Clock
from duolog.ports.http import Deferred, Request
from duolog.sqs_api.answers import Answer
from duolog.sqs_api.arns import Arns
from duolog.sqs_api.authentication import Authentication
from duolog.sqs_api.context import Context
from duolog.sqs_api.dispatch import CALLING_BACK, WAITING
from duolog.sqs_api.overdue import Overdue
from duolog.sqs_api.protocols import protocol_of
from duolog.sqs_api.queue_urls import QueueUrls
from duolog.sqs_api.request_ids import RequestIds
from duolog.sqs_api.usage import QueueUsage
from duolog.wire.sqs.apis import ACTIONS
from duolog.wire.sqs.messages import Shape

PROTOCOL = "sqs"
CONTEXTS_MAX = 256
NO_ACTION = "unknown"
"""Under which requests are counted that ask for no action of ours, or may not ask at all."""


class SqsDoor:
    """Called with each request by the HTTP server."""

    def __init__(
        self,
        queues: Queues,
        clock: Clock,
        metrics: Metrics,
        *,
        account_id: str,
        region: str,
        credentials: Mapping[str, str],
        first_request_id: uuid.UUID,
        meter: NoMeter = NO_METER,
    ) -> None:
        """`credentials`: secret keys by access key; without any, only this machine is served."""
        self._queues = queues
        self._account_id = account_id
        self._urls = QueueUrls(account_id)
        self._arns = Arns(region, account_id)
        self._usage = QueueUsage(self._urls, queues, meter.queue_tally)
        self._authentication = Authentication(credentials, region, clock.now_ms)
        self._now_ns = clock.monotonic_ns
        self._request_ids = RequestIds(first_request_id)
        self._stats = {name: metrics.request(PROTOCOL, name) for name in (*ACTIONS, NO_ACTION)}
        self._overdue = Overdue(clock.monotonic_ns)
        self._contexts: dict[tuple[bytes, str, bool], Context] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, request: Request) -> Deferred:
        started_ns = self._now_ns()
        protocol = protocol_of(request)
        request_id = self._request_ids.next()
        try:
            sender_id = self._authentication.sender_of(request)
            action, content = protocol.open(request)
        except Refusal as refusal:
            stats = self._stats[NO_ACTION]
            answer = Answer(protocol, None, stats, request_id, started_ns, self._now_ns)
            answer.done(refusal)
            return answer
        name = action.name
        answer = Answer(protocol, action, self._stats[name], request_id, started_ns, self._now_ns)
        asked: Shape | None = None
        try:
            asked = protocol.decode(action, content, request.path)
            context = self._context(request, sender_id, protocol.is_plain_ascii(content))
            call_back = CALLING_BACK.get(name)
            if call_back is None:
                counted = partial(self._usage.count_other, name, asked)
                self._begin(answer.after(WAITING[name], context, asked, counted))
                self._overdue.watch(answer)
                return answer
            abandon = call_back(context, asked, answer.done)
            if answer.response is None:
                answer.on_abandoned = abandon
                self._overdue.watch(answer)
        except Refusal as refusal:
            if asked is not None:
                self._usage.count_refused(name, asked)
            answer.done(refusal)
        return answer

    def _context(self, request: Request, sender_id: str, is_plain_ascii: bool) -> Context:
        """Most requests come by the same name, from the same sender."""
        host = request.headers.get(b"host", b"localhost")
        context = self._contexts.get((host, sender_id, is_plain_ascii))
        if context is None:
            if len(self._contexts) >= CONTEXTS_MAX:
                self._contexts.clear()
            context = self._contexts[host, sender_id, is_plain_ascii] = Context(
                self._queues,
                self._urls,
                self._arns,
                self._account_id,
                host,
                sender_id,
                is_plain_ascii,
                self._usage,
            )
        return context

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Go on with it although its client may go: half of a change would be left behind."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
