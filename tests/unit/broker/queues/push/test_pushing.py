"""Queues that push: delivered by POST, settled by the answer, never lost or hidden for long."""

import asyncio
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.fakes.poster import FakePoster
from tests.fakes.queue_house import ARN, QueueHouse, bodies, grouped, plain

from duolog.broker.queues.push.pusher import PushCounts, Pusher
from duolog.broker.queues.push.slots import PushSlots
from duolog.config.settings import Settings
from duolog.core.queues.message import MessageAttribute, Outgoing
from duolog.model.errors import Refusal
from duolog.model.queue_errors import InvalidAttributeValue, OverLimit

ENDPOINT = "http://hooks.example:8080/in?token=secret"
PUSH = {"duolog:PushEndpoint": ENDPOINT}
ONE_AT_A_TIME = {**PUSH, "duolog:PushConcurrency": "1"}

MakeHouse = Callable[..., QueueHouse]


@pytest.fixture
def make_house(tmp_path: Path) -> Iterator[MakeHouse]:
    made: list[QueueHouse] = []

    def make(**settings: str) -> QueueHouse:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        path = str(tmp_path / f"meta-{len(made)}.sqlite")
        made.append(QueueHouse(path, {"push.allow": "hooks.example", **named}))
        return made[-1]

    yield make
    for house in made:
        house.close()


@pytest.fixture
def house(make_house: MakeHouse) -> QueueHouse:
    return make_house()


@pytest.fixture
def endpoint(house: QueueHouse) -> FakePoster:
    return house.poster


def set_attributes(house: QueueHouse, name: str, attributes: dict[str, str]) -> None:
    house.run(house.queues.set_attributes(name, attributes))
    house.settle()


def send(house: QueueHouse, name: str, *messages: Outgoing) -> None:
    house.send(name, *messages)
    house.settle()


def test_a_message_is_pushed_and_gone_when_the_endpoint_has_it(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    house.create("work", **PUSH)
    send(house, "work", Outgoing("grün", {"n": MessageAttribute("Number", b"7")}))
    (posted,) = endpoint.posted
    assert (posted.url, posted.text) == (ENDPOINT, "grün")
    assert posted.headers["X-Duolog-Queue"] == "work"
    assert posted.headers["X-Duolog-Receive-Count"] == "1"
    assert posted.headers["X-Duolog-Attribute-n"] == "7"
    assert house.queue("work").counts() == (0, 0, 0)
    house.advance(3_600_000)
    assert len(endpoint.posted) == 1


def test_what_was_there_before_the_endpoint_is_pushed_too(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    house.create("work")
    send(house, "work", *plain("a", "b", "c", "d", "e", "f"))
    set_attributes(house, "work", PUSH)
    assert sorted(endpoint.texts) == ["a", "b", "c", "d", "e", "f"]
    assert house.queue("work").counts() == (0, 0, 0)


def test_a_push_is_settled_wherever_the_message_is_led_by_then(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    queue = house.create("work")
    send(house, "work", *plain("a"))
    settled: list[str] = []

    class Elsewhere:
        def delete(self, handles: list[str], done: Callable[[Any], None]) -> None:
            settled.extend(handles)
            done([None])

    front: Any = Elsewhere()

    async def push() -> None:
        slots = PushSlots(1)
        Pusher(
            queue, lambda: front, ENDPOINT, endpoint.post, slots, PushCounts(), visibility_ms_min=1
        ).start()
        while slots.taken:
            await asyncio.sleep(0)

    house.run(push())
    house.settle()
    assert endpoint.texts == ["a"]
    assert len(settled) == 1


def test_a_delayed_message_is_pushed_when_it_is_due(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    house.create("work", **PUSH, DelaySeconds="5")
    send(house, "work", *plain("later"))
    house.advance(4_999)
    assert endpoint.posted == []
    house.advance(1)
    assert endpoint.texts == ["later"]


def test_a_message_that_somebody_receives_is_not_pushed(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    house.create("work", **PUSH)
    answers: list[object] = []
    house.park("work", answers)
    send(house, "work", *plain("for the one who waits"))
    assert len(answers) == 1
    assert endpoint.posted == []


@pytest.mark.parametrize("problem", ["status", "failure"])
def test_a_failed_push_is_tried_again_after_a_wait_that_doubles(
    house: QueueHouse, endpoint: FakePoster, problem: str
) -> None:
    if problem == "status":
        endpoint.status = 503
    else:
        endpoint.failure = "nobody listens there"
    house.create("work", **PUSH)
    send(house, "work", *plain("a"))
    for times, wait_ms in enumerate([1_000, 2_000, 4_000, 8_000], 1):
        assert len(endpoint.posted) == times
        assert endpoint.posted[-1].headers["X-Duolog-Receive-Count"] == str(times)
        house.advance(wait_ms - 1)
        assert len(endpoint.posted) == times
        house.advance(1)
    assert house.receive("work") == []


@pytest.mark.parametrize("status", [199, 300, 302, 404, 500])
def test_only_a_status_of_success_is_one(
    house: QueueHouse, endpoint: FakePoster, status: int
) -> None:
    endpoint.status = status
    house.create("work", **PUSH)
    send(house, "work", *plain("a"))
    assert house.queue("work").counts() == (0, 1, 0)


def test_a_message_that_cannot_be_pushed_goes_to_the_dead_letter_queue(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = 500
    house.create("dead")
    policy = f'{{"deadLetterTargetArn": "{ARN}dead", "maxReceiveCount": 2}}'
    house.create("work", **PUSH, RedrivePolicy=policy)
    send(house, "work", *plain("poison"))
    house.advance(1_000)
    house.advance(2_000)
    assert len(endpoint.posted) == 2
    assert house.queue("work").counts() == (0, 0, 0)
    assert bodies(house.receive("dead")) == ["poison"]


def test_no_more_requests_are_under_way_than_the_queue_allows(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work", **PUSH, **{"duolog:PushConcurrency": "3"})
    send(house, "work", *plain(*"abcdefgh"))
    for done in range(8):
        assert len(endpoint.under_way) == min(3, 8 - done)
        endpoint.under_way[0].answer.set_result(204)
        house.settle()
    assert sorted(endpoint.texts) == list("abcdefgh")
    assert endpoint.most_at_once == 3
    assert house.queue("work").counts() == (0, 0, 0)


def test_what_is_not_under_way_is_still_there_for_others(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work", **ONE_AT_A_TIME)
    send(house, "work", *plain("a", "b", "c"))
    assert house.queue("work").counts() == (2, 1, 0)
    assert len(house.receive("work", 10)) == 2


def test_a_change_of_the_concurrency_leaves_what_is_under_way_alone(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work", **ONE_AT_A_TIME)
    send(house, "work", *plain("a", "b", "c"))
    set_attributes(house, "work", {"duolog:PushConcurrency": "2"})
    assert len(endpoint.posted) == len(endpoint.under_way) == 2


def test_a_group_is_pushed_in_order_and_waits_for_what_failed(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work.fifo", FifoQueue="true", **PUSH)
    send(house, "work.fifo", *grouped("red", "r1", "r2"), *grouped("blue", "b1"))
    assert endpoint.texts == ["r1", "b1"]
    assert endpoint.posted[0].headers["X-Duolog-Message-Group-Id"] == "red"
    endpoint.posted[0].answer.set_result(500)
    endpoint.posted[1].answer.set_result(200)
    house.settle()
    assert endpoint.texts == ["r1", "b1"]
    house.advance(1_000)
    assert endpoint.texts == ["r1", "b1", "r1"]
    endpoint.posted[2].answer.set_result(200)
    house.settle()
    assert endpoint.texts == ["r1", "b1", "r1", "r2"]


def test_a_message_is_hidden_from_others_as_long_as_its_push_may_take(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work", **PUSH, VisibilityTimeout="0")
    send(house, "work", *plain("a"))
    assert endpoint.posted[0].asked["timeout_s"] == 30
    house.advance(30_000)
    assert house.receive("work") == []
    endpoint.posted[0].answer.set_result(200)
    house.settle()
    assert house.queue("work").counts() == (0, 0, 0)


def test_the_node_bounds_the_pushes_of_all_queues_and_each_gets_a_turn(
    make_house: MakeHouse,
) -> None:
    house = make_house(push_requests_max="2")
    endpoint = house.poster
    endpoint.status = None
    for name in ("one", "two", "three"):
        house.create(name, **PUSH)
        send(house, name, *plain(*[f"{name} {n}" for n in range(4)]))
    for _ in range(12):
        assert len(endpoint.under_way) <= 2
        endpoint.under_way[0].answer.set_result(200)
        house.settle()
    assert len(endpoint.posted) == 12
    firsts = [text.split()[0] for text in endpoint.texts]
    assert firsts.index("three") <= 4
    assert house.queues.pushing.in_progress == 0


def test_an_endpoint_that_fails_gets_one_message_at_a_time_until_it_works(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = 500
    house.create("work", **PUSH)
    with capture_logs() as logs:
        send(house, "work", *plain(*[str(n) for n in range(100)]))
        house.advance(20_000)
        assert len(endpoint.posted) < 20
        endpoint.status = 200
        for _ in range(30):
            house.advance(1_000)
    assert house.queue("work").counts() == (0, 0, 0)
    assert [each["event"] for each in logs if "endpoint" in each["event"]] == [
        "a push endpoint fails",
        "a push endpoint works again",
    ]


def test_a_log_never_shows_the_secret_of_an_endpoint(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.failure = "nobody listens there"
    house.create("work", **PUSH)
    with capture_logs() as logs:
        send(house, "work", *plain("a", "b", "c", "d"))
    (line,) = [each for each in logs if each["event"] == "a push endpoint fails"]
    assert (line["queue"], line["endpoint"]) == ("work", "hooks.example:8080")
    assert "secret" not in str(line)


def test_a_poisonous_message_does_not_hold_up_the_others(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work", **PUSH)
    send(house, "work", *plain("poison", *[str(n) for n in range(20)]))
    while endpoint.under_way:
        posted = endpoint.under_way[0]
        posted.answer.set_result(500 if posted.text == "poison" else 200)
        house.settle()
    assert len(endpoint.posted) == 21
    assert house.queue("work").counts() == (0, 1, 0)


def test_what_is_delivered_at_most_once_is_pushed_at_most_once(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = 500
    house.create("work", **PUSH, **{"duolog:Delivery": "at-most-once"})
    send(house, "work", *plain("a"))
    house.advance(60_000)
    assert endpoint.texts == ["a"]
    assert house.queue("work").counts() == (0, 0, 0)


def test_taking_the_endpoint_away_gives_back_what_is_being_pushed(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work", **PUSH)
    send(house, "work", *plain("a", "b"))
    set_attributes(house, "work", {"duolog:PushEndpoint": ""})
    assert endpoint.under_way == []
    assert house.queue("work").counts() == (2, 0, 0)
    assert sorted(bodies(house.receive("work", 10))) == ["a", "b"]
    send(house, "work", *plain("c"))
    assert len(endpoint.posted) == 2


def test_another_endpoint_gets_what_was_on_its_way_to_the_first(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work", **PUSH)
    send(house, "work", *plain("a"))
    endpoint.status = 200
    set_attributes(house, "work", {"duolog:PushEndpoint": "http://hooks.example/new"})
    assert [posted.url for posted in endpoint.posted] == [ENDPOINT, "http://hooks.example/new"]
    assert endpoint.under_way == []
    assert house.queue("work").counts() == (0, 0, 0)


def test_an_endpoint_that_was_taken_away_while_messages_were_on_their_way_gets_none(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    house.create("work")
    send(house, "work", *plain("a"))

    async def change_twice() -> None:
        await house.queues.set_attributes("work", PUSH)
        await house.queues.set_attributes("work", {"duolog:PushEndpoint": ""})

    house.run(change_twice())
    for _ in range(200):
        # The queue's journal is made once the queue has stopped changing.
        house.clock.at_ms += 50
        house.run(asyncio.to_thread(time.sleep, 0.005))
        if not house.queues.opening_count:
            break
    house.settle()
    assert endpoint.under_way == []
    assert sum(house.queue("work").counts()) + len(endpoint.posted) == 1
    assert house.queue("work").counts().in_flight == 0


def test_deleting_a_queue_ends_its_pushes(house: QueueHouse, endpoint: FakePoster) -> None:
    endpoint.status = None
    house.create("work", **PUSH)
    send(house, "work", *plain("a", "b"))
    house.run(house.queues.delete("work"))
    house.settle()
    assert endpoint.under_way == []
    assert house.queues.pushing.in_progress == 0
    endpoint.status = 200
    house.create("work", **PUSH)
    send(house, "work", *plain("of the new queue"))
    assert endpoint.texts[2:] == ["of the new queue"]


def test_a_stop_gives_back_what_is_being_pushed_and_a_start_goes_on(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work", **PUSH)
    send(house, "work", *plain("a"))
    house.restart()
    house.settle()
    first, second = endpoint.posted
    assert first.answer.cancelled()
    assert second.headers["X-Duolog-Receive-Count"] == "2"
    second.answer.set_result(200)
    house.settle()
    assert house.queue("work").counts() == (0, 0, 0)


def test_what_was_being_pushed_when_the_power_went_is_pushed_again(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    endpoint.status = None
    house.create("work", **PUSH)
    send(house, "work", *plain("a"))
    endpoint.status = 200
    house.crash()
    house.settle()
    house.advance(35_000)
    assert endpoint.texts == ["a", "a"]
    assert house.queue("work").counts() == (0, 0, 0)


def test_a_message_that_was_pushed_does_not_come_back_after_a_crash(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    house.create("work", **PUSH)
    send(house, "work", *plain("a"))
    house.crash()
    house.advance(60_000)
    assert endpoint.texts == ["a"]


def test_an_endpoint_that_is_not_allowed_is_refused_and_the_setting_is_named(
    house: QueueHouse,
) -> None:
    elsewhere = {"duolog:PushEndpoint": "http://169.254.169.254/latest"}
    with pytest.raises(InvalidAttributeValue, match=r"push\.allow"):
        house.create("work", **elsewhere)
    house.create("work")
    with pytest.raises(InvalidAttributeValue, match=r"push\.allow"):
        set_attributes(house, "work", elsewhere)
    assert house.queue("work").config.push_endpoint is None


def test_without_an_allow_list_no_queue_pushes(make_house: MakeHouse) -> None:
    house = make_house(push_allow="")
    with pytest.raises(InvalidAttributeValue, match=r"push\.allow"):
        house.create("work", **PUSH)


def test_a_queue_whose_endpoint_is_not_allowed_any_more_can_still_be_changed(
    house: QueueHouse,
) -> None:
    house.create("work", **PUSH)
    house.settings = Settings.load({})
    house.restart()
    set_attributes(house, "work", {"VisibilityTimeout": "5"})
    assert house.queue("work").config.push_endpoint == ENDPOINT


def test_the_address_that_is_connected_to_is_checked_at_every_push(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    house.create("work", **PUSH)
    send(house, "work", *plain("a"))
    allow = endpoint.posted[0].asked["allow"]
    assert allow("hooks.example", ip_address("192.0.2.1"), 8080)
    assert not allow("other.example", ip_address("192.0.2.1"), 8080)


def test_counts_tell_what_was_pushed_and_what_failed(
    house: QueueHouse, endpoint: FakePoster
) -> None:
    house.create("work", **PUSH)
    send(house, "work", *plain("a"))
    endpoint.status = 500
    send(house, "work", *plain("b"))
    counts = house.queues.pushing.counts
    assert (counts.succeeded, counts.failed) == (1, 1)


def test_a_queue_that_gives_nothing_out_is_asked_again_later(
    house: QueueHouse, endpoint: FakePoster, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = house.create("work", **PUSH)

    def refuse(*, done: Callable[[Refusal], None], **_: Any) -> None:
        done(OverLimit("Too many messages are in flight."))

    with monkeypatch.context() as patched:
        patched.setattr(queue, "receive", refuse)
        send(house, "work", *plain("a"))
        assert house.queues.pushing.in_progress == 0
    house.advance(999)
    assert endpoint.posted == []
    house.advance(1)
    assert endpoint.texts == ["a"]


def test_a_mistake_in_a_push_is_heard_of_and_does_not_stop_the_others(
    house: QueueHouse, endpoint: FakePoster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stumble(*_: Any, **__: Any) -> int:
        raise ZeroDivisionError

    heard: list[Any] = []
    house.loop.set_exception_handler(lambda loop, context: heard.append(context["exception"]))
    house.create("work", **PUSH)
    with monkeypatch.context() as patched:
        patched.setattr(endpoint, "post", stumble)
        send(house, "work", *plain("a"))
    assert [type(each) for each in heard] == [ZeroDivisionError]
    house.advance(1_000)
    assert endpoint.texts == ["a"]
    assert house.queue("work").counts() == (0, 0, 0)
