"""Where this node's logs end, for elections that have to compare copies."""

from collections.abc import Mapping, Sequence

from duolog.broker.partition import Partition
from duolog.model.log_end import LogEnd
from duolog.wire.peer.log_ends import Place

Routes = Mapping[tuple[str | bytes, int], Partition]


class LogEnds:
    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    def of(self, places: Sequence[Place]) -> list[LogEnd | None]:
        """The ends in the order of the places; None where this node holds no copy."""
        held = [self._routes.get(place) for place in places]
        return [None if partition is None else _end_of(partition) for partition in held]


def _end_of(partition: Partition) -> LogEnd:
    return LogEnd(partition.log.epochs.latest, partition.log.end_offset)
