"""What happens to queues that nobody asked for: slow and failing disks, stops and crashes."""

from collections.abc import Callable
from errno import EIO
from random import Random
from typing import Any

from tests.unit.broker.queues.model.clients import Clients
from tests.unit.broker.queues.model.observed import observe
from tests.unit.broker.queues.model.reference import Receipt, State
from tests.unit.broker.queues.model.requests import Pair, Purging, Request

from duolog.broker.queues.journal import RETRY_MS
from duolog.core.queues.message import Outgoing
from duolog.model.errors import StorageFailed
from duolog.model.names import queue_state_topic
from duolog.model.queue_errors import OverLimit


class Accidents(Clients):
    def advance(self, ms: int) -> None:
        self.house.clock.at_ms += ms
        self.settle()
        self.compare()

    def hold(self) -> None:
        self.disk.is_held = True

    def sync_once(self) -> None:
        async def finish() -> None:
            self.disk.finish_sync()

        self.house.run(finish())
        self.settle()
        self.compare()

    def release(self) -> None:
        async def release() -> None:
            self.disk.release()

        self.house.run(release())
        self.settle()
        self.compare()

    def restart(self) -> None:
        self.release()
        self.house.restart()
        self._forget_requests()
        self.settle()
        self.compare()

    def crash(self, random: Random | None) -> None:
        """What nobody was told of may have happened or not; the rest has."""
        self.house.crash(random)
        for pair in self.pairs.values():
            self.accept_arrivals(pair)
            lost = pair.unread.keys() - self.by_body.keys()
            pair.model.forget(lost)
            pair.unread.clear()
            for name, taking in list(pair.attempts.items()):
                if not taking.answers:
                    del pair.attempts[name]
                    self.attempt_epoch += 1
        self._forget_requests()
        for pair in self.pairs.values():
            self._decide(pair)
        self.settle()
        self.compare()

    def _forget_requests(self) -> None:
        for request in self.requests:
            if isinstance(request, Purging) and request.task is not None:
                request.task.cancel()
        self.requests.clear()
        self.house.settle()
        for pair in self.pairs.values():
            pair.takings.clear()

    def _decide(self, pair: Pair) -> None:
        """Find out which of the possible states a crash has left."""
        now_ms, model = self.now_ms, pair.model
        seen = observe(self.queue(pair))
        for message in [*model.messages.values(), *model.done.values()]:
            possible = message.possible()
            now = seen.get(message.place)
            if now is not None:
                left = [
                    state
                    for state in possible
                    if not state.is_done and self.expected(pair, message, state, now_ms) == now
                ]
                assert left, f"{message} is {now}, which is none of {possible}"
                message.settle_as(left[0])
                if message.place in model.done:
                    model.messages[message.place] = model.done.pop(message.place)
            elif State(is_done=True) in possible:
                message.settle_as(State(is_done=True))
                if message.place in model.messages:
                    message.done_ms = now_ms
                    model.done[message.place] = model.messages.pop(message.place)
            else:
                # Gone for another reason, which compare() asks for: it may have died at once.
                dead = [
                    state
                    for state in possible
                    if self.expected(pair, message, state, now_ms).is_dead
                ]
                message.settle_as(dead[0] if dead else message.state)

    def send_to_a_failing_disk(self, pair: Pair, group: str | None, given: str | None) -> None:
        outgoing = [Outgoing("never", {}, None, group, given)]
        scope = group if pair.by_group else None
        is_known = given and pair.model.duplicate_of(scope, given, self.now_ms)

        def check(answer: Any) -> None:
            assert is_known or isinstance(answer[0], StorageFailed), answer

        self._meet_failed_write(
            f"{pair.name}-", check, lambda done: self.queue(pair).send(outgoing, done)
        )

    def receive_on_a_failing_disk(self, pair: Pair) -> None:
        wanted = StorageFailed if pair.model.available(self.now_ms) else (list, OverLimit)

        def check(answer: Any) -> None:
            assert isinstance(answer, wanted), answer

        self._meet_failed_write(
            f"{queue_state_topic(pair.name)}-",
            check,
            lambda done: self.queue(pair).receive(
                count=1, wait_ms=0, visibility_ms=None, attempt=None, done=done
            ),
        )

    def delete_on_a_failing_disk(self, pair: Pair, receipt: Receipt) -> None:
        verdict = pair.model.verdict(receipt, self.now_ms)

        def check(answer: Any) -> None:
            if verdict == "deleted":
                assert isinstance(answer, StorageFailed), answer
            else:
                assert [each is None for each in answer] == [verdict == "accepted"]

        self._meet_failed_write(
            f"{queue_state_topic(pair.name)}-",
            check,
            lambda done: self.queue(pair).delete([receipt.handle], done),
        )

    def _meet_failed_write(
        self,
        path_part: str,
        check: Callable[[Any], None],
        ask: Callable[[Callable[[Any], None]], object],
    ) -> None:
        """A write fails: whoever needs it is refused, and everything is as it was."""
        self.disk.fail("write", EIO, path_part=path_part)
        self.ask(Request(check, may_fail=True), ask)
        self.disk.clear_faults()
        self._forget_refused()
        # For so long a partition takes no writes.
        self.house.clock.at_ms += RETRY_MS
        self.settle()
        self._forget_refused()
        self.compare()

    def _forget_refused(self) -> None:
        """Those who waited for messages may have been the ones who needed the disk."""
        for pair in self.pairs.values():
            for taking in list(pair.takings):
                if taking.answers and isinstance(taking.answers[0], StorageFailed):
                    pair.takings.remove(taking)
                    self.requests.remove(taking)

    def close(self) -> None:
        self._forget_requests()
        self.house.close()
