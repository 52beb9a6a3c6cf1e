"""Real queues beside their references: everything is done to both, and nothing may differ.

Requests are answered when the disk has synced, which may be held back. What a request does to
the queue happens when it is made; only messages that are sent appear with the sync.
"""

import asyncio
from random import Random

from tests.fakes.queue_house import ACCOUNT, REGION
from tests.unit.broker.queues.model.accidents import Accidents
from tests.unit.broker.queues.model.clients import check_equal
from tests.unit.broker.queues.model.observed import observe
from tests.unit.broker.queues.model.reference import Place
from tests.unit.broker.queues.model.requests import Pair, Purging

MOVE_TURNS_MAX = 200


class Comparison(Accidents):
    """With what operators do."""

    def purge(self, pair: Pair) -> None:
        now_ms, purged = self.now_ms, len(pair.model.messages)
        request = Purging(lambda answer: check_equal(answer, purged))
        self.requests.append(request)

        async def purge() -> None:
            request.task = asyncio.ensure_future(self.house.queues.purge(pair.name))
            request.task.add_done_callback(request.finished)

        self.house.run(purge())
        for message in list(pair.model.messages.values()):
            pair.model.end(message, now_ms, request)
        self.settle()
        self.compare()

    def set_attributes(self, pair: Pair, **attributes: str) -> None:
        self.house.run(self.house.queues.set_attributes(pair.name, attributes))
        self.settle()

    def set_redrive(self, pair: Pair, target: Pair, receive_count_max: int | None) -> None:
        policy = ""
        if receive_count_max is not None:
            policy = (
                f'{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:{target.name}",'
                f'"maxReceiveCount":{receive_count_max}}}'
            )
        pair.model.receive_count_max = receive_count_max
        self.set_attributes(pair, RedrivePolicy=policy)
        self.compare()

    def replay(self, pair: Pair, from_ms: int, to_ms: int) -> None:
        """Brings back what is done and still there; what must be retained is there."""
        assert self.disk.is_settled
        # Deliveries of two lives at the same time could not be told apart.
        self.advance(1)
        now_ms, model = self.now_ms, pair.model
        count = self.house.run(self.house.queues.replay(pair.name, from_ms, to_ms))
        taken = {place for taking in pair.takings for place in taking.handed_out}
        there = observe(self.queue(pair)).keys() | taken
        revived = 0
        for message in list(model.done.values()):
            is_wanted = from_ms <= message.sent_ms < to_ms
            if message.place in there and is_wanted:
                model.revive(message, now_ms)
                revived += 1
            elif is_wanted:
                assert now_ms - message.done_ms >= pair.retain_ms, f"{message} was not retained"
        assert count == revived or pair.takings
        self.settle()
        self.compare()

    def move(self, source: Pair, destination: Pair | None) -> None:
        """Run a task that empties a dead-letter queue."""
        assert self.disk.is_settled
        before = self._in_line(source)
        self._begin_move(source, destination)
        self._end_moves(source)
        # Others may be there by now: what somebody who waits for them let die again, and what
        # an earlier task, that a crash ended, had hidden.
        left = before & self._in_line(source)
        assert not left or not source.model.available(self.now_ms)

    def _in_line(self, pair: Pair) -> set[Place]:
        """Those that a receive could get."""
        return {each.place for lane in pair.model.lanes(self.now_ms) for each in lane}

    def crash_while_moving(self, source: Pair, syncs: int, random: Random | None) -> None:
        """A task goes on after the crash, but not with what it has hidden before."""
        assert self.disk.is_settled
        self.hold()
        self._begin_move(source, None)
        self.settle()
        self.compare()
        for _ in range(syncs):
            self.sync_once()
        self.crash(random)
        self._end_moves(source)

    def _begin_move(self, source: Pair, destination: Pair | None) -> None:
        # Tasks are listed by their time.
        self.house.clock.at_ms += 1
        source.is_moving = True
        name = None if destination is None else destination.name
        self.house.run(self.house.queues.move_tasks.start(source.name, name, None))

    def _end_moves(self, source: Pair) -> None:
        tasks = self.house.queues.move_tasks
        for _ in range(MOVE_TURNS_MAX):
            if all(task.status != "RUNNING" for task in tasks.all()):
                break
            self.settle()
        assert {task.status for task in tasks.all()} == {"COMPLETED"}
        # The store works in order: after this it knows, too.
        self.house.run(self.house.store.get("anything"))
        self.settle()
        self.compare()
        source.is_moving = False
