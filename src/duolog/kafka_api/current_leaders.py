"""Leader hints that accompany a refusal, for clients that asked the wrong node."""

from collections.abc import Iterable
from typing import NamedTuple

from duolog.broker.broker import Broker
from duolog.kafka_api.endpoints import endpoint
from duolog.model.errors import Refusal
from duolog.wire.kafka.error_codes import ErrorCode
from duolog.wire.kafka.leaders import NodeEndpoint

_MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})

Place = tuple[str | bytes, int]
"""A topic, by name or by id, and a partition's index."""


class CurrentLeaders(NamedTuple):
    leaders: dict[Place, tuple[int, int]]
    """Leader and leader epoch of each partition whose error code says that it has moved."""
    endpoints: list[NodeEndpoint]
    """Addresses of these leaders, as far as they can be reached."""


NOTHING_MOVED = CurrentLeaders({}, [])


def current_leaders(broker: Broker, refused: Iterable[tuple[Place, int]]) -> CurrentLeaders:
    """Hints for refused partitions, each given with its error code."""
    leaders = {}
    for place, code in refused:
        if code in _MOVED:
            try:
                state = broker.state_of(*place)
            except Refusal:
                continue
            leaders[place] = state.leader, state.leader_epoch
    found = (endpoint(broker, node) for node in sorted({each for each, _ in leaders.values()}))
    return CurrentLeaders(leaders, [each for each in found if each is not None])
