from collections.abc import Sequence

import pytest
from bench.comparison.rounds import ATTEMPTS, Turns, alternate
from bench.comparison.standing import Absent, Contestant, Standing
from bench.comparison.warming import HOT_ROUNDS, ROUNDS_MAX, cost, is_hot, is_settled
from bench.driver import LoadFailed
from bench.samples import Sample


def contestant(name: str) -> Contestant:
    return Contestant(name, "1", "disk", "defaults", "load.c")


class Server:
    """Takes each time as long as it is told to, and then always as long as the last time."""

    def __init__(self, name: str, seconds: Sequence[float], calls: list[str]) -> None:
        self.name, self._seconds, self._calls = name, list(seconds), calls

    def run(self, number: int) -> Sequence[Sample]:
        self._calls.append(self.name)
        took = self._seconds[0] if len(self._seconds) == 1 else self._seconds.pop(0)
        return [Sample(took, took / 2, messages=1000)]


def compared(*servers: Server, rounds: int = 3) -> list[Standing | Absent]:
    turns = [Turns(contestant(server.name), server.run) for server in servers]
    return list(alternate("t", ["produce"], turns, rounds=rounds, progress=lambda text: None))


def test_a_server_is_warm_once_two_rounds_differ_by_less_than_a_twentieth() -> None:
    assert not is_settled([1.0])
    assert not is_settled([2.0, 1.0])
    assert not is_settled([1.0, 1.05])
    assert is_settled([2.0, 1.0, 0.96])


def test_a_server_is_hot_once_several_rounds_were_no_faster_than_those_before() -> None:
    assert not is_hot([1.0] * HOT_ROUNDS)
    assert not is_hot([4.0, 3.0, 3.5, 3.4, 2.0])
    assert is_hot([4.0, 3.0, 3.1, 3.2, 2.9, 3.0])


def test_a_server_is_preheated_as_long_as_it_gets_faster() -> None:
    calls: list[str] = []
    server = Server("a", [9.0, 8.0, 7.0, 6.0, 5.0], calls)
    Turns(contestant("a"), server.run, preheat_seconds=60.0).preheat()
    assert len(calls) == 5 + HOT_ROUNDS


def test_what_is_paced_is_judged_by_its_latency() -> None:
    paced = Sample(1.0, 0.1, messages=1000, p50_us=250.0, is_paced=True)
    assert cost([paced]) == 250.0
    assert cost([Sample(1.0, 0.1, messages=1000)]) == pytest.approx(0.001)


def test_servers_take_turns_once_all_are_warm() -> None:
    calls: list[str] = []
    compared(Server("a", [9.0, 3.0, 1.0], calls), Server("b", [1.0], calls), rounds=2)
    assert calls == ["a", "b", "a", "b", "a", "a", *"ab", *"ba"]


def test_rounds_of_the_warm_up_are_not_counted() -> None:
    (standing,) = compared(Server("a", [9.0, 1.0], []))
    assert isinstance(standing, Standing)
    assert standing.figures.messages_per_s == pytest.approx(1000)
    assert (standing.warm_up, standing.settled) == (3, True)


def test_a_server_that_never_settles_is_measured_and_said_not_to_have() -> None:
    restless = [float(2**number) for number in range(20)]
    (standing,) = compared(Server("a", restless, []))
    assert isinstance(standing, Standing)
    assert (standing.warm_up, standing.settled) == (ROUNDS_MAX, False)


def test_a_server_that_fails_is_left_out_with_the_reason_and_costs_no_other() -> None:
    tries: list[int] = []

    def broken(number: int) -> Sequence[Sample]:
        tries.append(number)
        raise LoadFailed("it answered 500")

    turns = [Turns(contestant("a"), broken), Turns(contestant("b"), Server("b", [1.0], []).run)]
    absent, standing = alternate("t", ["p"], turns, rounds=1, progress=lambda text: None)
    assert absent == Absent("a", "t: it answered 500")
    assert isinstance(standing, Standing)
    assert len(set(tries)) == ATTEMPTS
