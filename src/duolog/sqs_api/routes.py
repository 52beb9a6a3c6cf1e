"""Routes: each serves the requests of one action, protocol, host name and sender.

Requests of actions that move messages are gathered and handled once per turn: most of the cost is
then shared. Other actions get a task each.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.broker.queues.turn import Turn
from duolog.model.errors import Refusal
from duolog.sqs_api.answers import Answer, Answers
from duolog.sqs_api.context import Context
from duolog.sqs_api.dispatch import OneByOne, Together, Waiting
from duolog.sqs_api.overdue import Overdue
from duolog.wire.sqs.messages import Shape
from duolog.wire.sqs.plain_batches import PlainBatch

_REPEATED = "ReceiveMessage"
"""The action whose requests repeat each other byte by byte, as consumers poll."""

REMEMBERED_BYTES_MAX = 4_096
"""Largest request remembered. Each host name has a route of its own, and clients can make up host
names."""

Decode = Callable[[Any], Any]


class _Remembering:
    """Decoder that remembers its last request, so that an identical short one is not decoded
    again."""

    __slots__ = ("_content", "_decode", "_shape")

    def __init__(self, decode: Decode) -> None:
        self._decode = decode
        self._content: Any = None
        self._shape: Any = None

    def __call__(self, content: Any) -> Any:
        if content == self._content:
            return self._shape
        shape = self._decode(content)
        if isinstance(content, bytes) and len(content) <= REMEMBERED_BYTES_MAX:
            self._content, self._shape = content, shape
        return shape


class Gathering:
    """Gathers requests for an action that moves messages until the turn ends."""

    __slots__ = (
        "_answers",
        "_context",
        "_decode",
        "_decode_plain",
        "_gathered",
        "_one_by_one",
        "_overdue",
        "_plain_context",
        "_started_ns",
        "_together",
        "_turn",
    )

    def __init__(
        self,
        answers: Answers,
        contexts: tuple[Context, Context],
        handlers: tuple[OneByOne, Together | None],
        turn: Turn,
        overdue: Overdue,
    ) -> None:
        """`contexts`: one for any request, and one for a request whose text is plain ASCII."""
        self._answers = answers
        self._context, self._plain_context = contexts
        self._one_by_one, self._together = handlers
        self._turn = turn
        self._overdue = overdue
        assert answers.action is not None
        self._decode: Decode = partial(answers.protocol.decode, answers.action)
        if answers.action.name == _REPEATED:
            self._decode = _Remembering(self._decode)
        self._decode_plain = answers.protocol.plain_decoder(answers.action)
        self._gathered: list[Answer] = []
        self._started_ns = 0

    def take(self, content: Any) -> Answer:
        gathered = self._gathered
        if not gathered:
            self._started_ns = self._answers.now_ns()
            self._turn.gather(self)
        answer = Answer(self._answers, content, self._started_ns)
        gathered.append(answer)
        return answer

    def flush(self) -> None:
        gathered, self._gathered = self._gathered, []
        for url, answers in self._by_queue(gathered).items():
            try:
                self._serve(url, answers)
            except Exception as bug:
                _report(bug, answers)
        # Watched only after the turn, because most are answered within it.
        asyncio.get_running_loop().call_soon(self._overdue.watch, gathered)

    def _by_queue(self, gathered: Sequence[Answer]) -> dict[str, list[Answer]]:
        """Decode the requests and group them by queue URL; those that do not decode are refused."""
        decode, decode_plain = self._decode, self._decode_plain
        by_url: dict[str, list[Answer]] = {}
        for answer in gathered:
            content = answer.content
            asked = None if decode_plain is None else decode_plain(content)
            if asked is None:
                try:
                    asked = decode(content)
                except Refusal as refusal:
                    answer.done(refusal)
                    continue
                except Exception as bug:
                    _report(bug, (answer,))
                    continue
            answer.asked = asked
            url = asked.queue_url
            if url in by_url:
                by_url[url].append(answer)
            else:
                by_url[url] = [answer]
        return by_url

    def _serve(self, url: str, answers: list[Answer]) -> None:
        try:
            queue = self._context.queue(url)
        except Refusal as refusal:
            for answer in answers:
                self._refuse(answer, refusal)
            return
        if self._together is not None and not isinstance(queue, RoutedQueue) and queue.is_undivided:
            answers = self._together(self._context, queue, answers)
        for answer in answers:
            context = self._plain_context if answer.is_plain_ascii else self._context
            try:
                if isinstance(answer.asked, PlainBatch):
                    answer.asked = self._decode(answer.content)
                abandon = self._one_by_one(context, answer.asked, answer.done)
            except Refusal as refusal:
                self._refuse(answer, refusal)
                continue
            except Exception as bug:
                _report(bug, (answer,))
                continue
            if abandon is not None and answer.response is None:
                if answer.is_abandoned:
                    abandon()
                else:
                    answer.on_abandoned = abandon

    def _refuse(self, answer: Answer, refusal: Refusal) -> None:
        assert self._answers.action is not None
        self._context.usage.count_refused(self._answers.action.name, answer.asked)
        answer.done(refusal)


def _report(bug: Exception, answers: Sequence[Answer]) -> None:
    """Fail the answers that met a bug, and report it to the event loop; other requests go on."""
    for answer in answers:
        if answer.is_open:
            answer.fail()
    asyncio.get_running_loop().call_exception_handler(
        {"message": "an SQS request could not be handled", "exception": bug}
    )


class Tasks:
    """Runs a task for each request of an action that has to wait."""

    __slots__ = ("_answers", "_begin", "_context", "_handle", "_overdue")

    def __init__(
        self,
        answers: Answers,
        context: Context,
        handle: Waiting,
        overdue: Overdue,
        begin: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """`begin` starts a task and keeps a reference, so that it is not garbage-collected."""
        self._answers = answers
        self._context = context
        self._handle = handle
        self._overdue = overdue
        self._begin = begin

    def take(self, content: Any) -> Answer:
        answers = self._answers
        answer = Answer(answers, content, answers.now_ns())
        assert answers.action is not None
        try:
            answer.asked = answers.protocol.decode(answers.action, content)
        except Refusal as refusal:
            answer.done(refusal)
            return answer
        self._begin(self._serve(answer, answers.action.name))
        self._overdue.watch((answer,))
        return answer

    async def _serve(self, answer: Answer, action: str) -> None:
        """Run the action. Usage is counted before the client is answered."""
        result: Shape | Refusal | None
        try:
            result = await self._handle(self._context, answer.asked)
        except Refusal as refusal:
            result = refusal
        except Exception:
            answer.fail()
            raise
        self._context.usage.count_other(action, answer.asked, result)
        answer.done(result)


Route = Gathering | Tasks
