"""ElectLeaders: elects preferred leaders, or unclean ones for partitions without any leader."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import ElectionNotNeeded, InvalidRequest, Refusal

PREFERRED = 0
UNCLEAN = 1

Election = Callable[[str, int], Awaitable[None]]


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    try:
        elect = _election(broker, getattr(request, "election_type", PREFERRED))
    except Refusal as refusal:
        return {"error_code": code_of(refusal), "replica_election_results": []}
    asked_for_all = request.topic_partitions is None
    results = []
    for topic, indexes in _wanted(broker, request.topic_partitions):
        partitions = [await _elect(elect, topic, index) for index in indexes]
        if asked_for_all:
            # A request for all partitions is answered only with those whose leader had to change.
            needless = code_of(ElectionNotNeeded())
            partitions = [each for each in partitions if each["error_code"] != needless]
        if partitions or not asked_for_all:
            results.append({"topic": topic, "partition_result": partitions})
    return {"error_code": 0, "replica_election_results": results}


def _election(broker: Broker, election_type: int) -> Election:
    if election_type == PREFERRED:
        return broker.requests.elect_preferred
    if election_type == UNCLEAN:
        return broker.requests.elect_uncleanly
    raise InvalidRequest(f"there are no elections of type {election_type}")


def _wanted(broker: Broker, named: Any) -> Iterator[tuple[str, list[int]]]:
    if named is not None:
        yield from ((each.topic, list(each.partitions)) for each in named)
        return
    for topic in list(broker.catalog.topics.values()):
        if topic.beside is None:
            yield topic.name, list(range(topic.partitions))


async def _elect(elect: Election, topic: str, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {"partition_id": index, "error_code": 0, "error_message": None}
    try:
        await elect(topic, index)
    except Refusal as refusal:
        result["error_code"] = code_of(refusal)
        result["error_message"] = str(refusal)
    return result
