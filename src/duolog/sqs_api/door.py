"""The SQS door: one handler for an HTTP server, for both protocols and all actions."""

import asyncio
import uuid
from collections.abc import Coroutine, Mapping
from typing import Any

from duolog.broker.queues.queues import Queues
from duolog.broker.usage.meter import NO_METER, NoMeter
from duolog.model.errors import Refusal
from duolog.observe.metrics import Metrics
from duolog.ports.clock import Clock
from duolog.ports.http import Deferred, Request
from duolog.sqs_api.answers import Answer, Answers
from duolog.sqs_api.arns import Arns
from duolog.sqs_api.authentication import Authentication
from duolog.sqs_api.context import Context
from duolog.sqs_api.dispatch import MOVING, WAITING
from duolog.sqs_api.overdue import Overdue
from duolog.sqs_api.protocols import WireProtocol, protocol_of
from duolog.sqs_api.queue_urls import QueueUrls
from duolog.sqs_api.request_ids import RequestIds
from duolog.sqs_api.routes import Gathering, Route, Tasks
from duolog.sqs_api.usage import QueueUsage
from duolog.wire.sqs.apis import ACTIONS, Action

PROTOCOL = "sqs"
ROUTES_MAX = 1_024
NO_ACTION = "unknown"
"""Name under which requests are counted that are denied or name no known action."""


class SqsDoor:
    """Handler that the HTTP server calls with each request."""

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
        self._routes: dict[tuple[object, ...], Route] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, request: Request) -> Deferred:
        protocol = protocol_of(request)
        try:
            sender_id = self._authentication.sender_of(request)
            action, content = protocol.open(request)
        except Refusal as refusal:
            answer = Answer(self._answers(protocol, None), request.body, self._now_ns())
            answer.done(refusal)
            return answer
        return self._route(request, protocol, action, sender_id).take(content)

    def _route(
        self, request: Request, protocol: WireProtocol, action: Action, sender_id: str
    ) -> Route:
        """The route of a request; few are needed, as most requests share host and sender."""
        host = request.headers.get(b"host", b"localhost")
        key = (protocol, action.name, host, sender_id)
        route = self._routes.get(key)
        if route is None:
            if len(self._routes) >= ROUTES_MAX:
                self._routes.clear()
            route = self._routes[key] = self._new_route(protocol, action, host, sender_id)
        # With credentials each request's signature must be checked, so the server may not skip this
        # step.
        is_enough = protocol.names_action_in_head and self._authentication.is_open
        if request.memo is not None and is_enough:
            request.memo.serve = route.take
        return route

    def _new_route(
        self, protocol: WireProtocol, action: Action, host: bytes, sender_id: str
    ) -> Route:
        context, plain_context = (
            Context(
                self._queues,
                self._urls,
                self._arns,
                self._account_id,
                host,
                sender_id,
                is_plain_ascii,
                self._usage,
            )
            for is_plain_ascii in (False, True)
        )
        answers = self._answers(protocol, action)
        handlers = MOVING.get(action.name)
        if handlers is None:
            return Tasks(answers, context, WAITING[action.name], self._overdue, self._begin)
        contexts = context, plain_context
        return Gathering(answers, contexts, handlers, self._queues.turn, self._overdue)

    def _answers(self, protocol: WireProtocol, action: Action | None) -> Answers:
        stats = self._stats[NO_ACTION if action is None else action.name]
        return Answers(protocol, action, stats, self._request_ids, self._now_ns)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task that survives its client's disconnection, lest a change is left half
        done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
