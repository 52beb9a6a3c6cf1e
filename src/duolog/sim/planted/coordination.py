"""Mistakes of the controller and of group coordinators."""

from typing import Any

import msgspec

from duolog.broker.groups.deadlines import Deadlines
from duolog.broker.groups.restoring import Restored
from duolog.broker.groups.shard import GroupShard
from duolog.broker.groups.writer import GroupWriter
from duolog.core.controller import elections
from duolog.core.controller.census import Census, Standing
from duolog.sim.planted.mistake import Mistake, mistake

_standing = Census.standing
_elected = elections.elected
_submit = GroupWriter.submit


def _trusting(self: Any, member: Any, node: int) -> Standing:
    found = _standing(self, member, node)
    return Standing.STEADY if found is Standing.EMPTIED else found


def _same_epoch(state: Any, leader: int, broker_epoch: int) -> Any:
    new = _elected(state, leader, broker_epoch)
    return msgspec.structs.replace(new, leader_epoch=state.leader_epoch)


def _written_at_once(self: Any, group_id: str, write: Any) -> None:
    self._listener.written(group_id, write)


async def _read_nothing(self: Any) -> Restored:
    return Restored({}, Deadlines(), {})


MISTAKES: dict[str, Mistake] = {
    "emptied-disk-in-sync": mistake(
        "A node that comes back with another data directory holds no data.",
        (Census, "standing", _trusting),
        faults=("wiped-disk", "power-cut-of-all"),
    ),
    "unclean-election": mistake(
        "Only a replica with all committed records is elected.",
        (elections, "_is_eligible", lambda member, node, census: node in census.live),
        faults=("kill", "isolate", "power-cut"),
    ),
    "elect-in-same-epoch": mistake(
        "Every election raises the leader epoch.",
        (elections, "elected", _same_epoch),
    ),
    "commit-offsets-unwritten": mistake(
        "A commit is acknowledged only once it is in the log.",
        (GroupWriter, "submit", _written_at_once),
        loads=("topics", "groups"),
    ),
    "groups-not-read-on-fail-over": mistake(
        "A new coordinator reads the groups' committed offsets.",
        (GroupShard, "_read", _read_nothing),
        loads=("topics", "groups"),
    ),
}
