"""Invariants between successive states of a partition in the metadata store."""

import msgspec

from duolog.broker.catalog_entries import CATALOG_PREFIX
from duolog.model.partition_state import NO_LEADER, PartitionState
from duolog.ports.metastore import ChangeSet
from duolog.sim.oracle.verdict import Verdict

PARTITIONS_PREFIX = CATALOG_PREFIX + "partitions/"


class StateOracle:
    """An observer of the store, called with every revision at the moment it is made."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._states: dict[str, PartitionState] = {}
        self._decode = msgspec.json.Decoder(PartitionState).decode

    def preferably_led_by(self, node: int) -> set[str]:
        """Partitions that the node leads, and will lead again whenever it comes back."""
        return {
            key for key, state in self._states.items() if state.leader == node == state.replicas[0]
        }

    @property
    def incomplete(self) -> list[str]:
        """Partitions that have no leader, or replicas that are not in sync."""
        return [
            key
            for key, state in self._states.items()
            if state.leader == NO_LEADER or {*state.in_sync} != {*state.replicas}
        ]

    def __call__(self, change_set: ChangeSet) -> None:
        for change in change_set.changes:
            if not change.key.startswith(PARTITIONS_PREFIX):
                continue
            if change.entry is None:
                self._states.pop(change.key, None)
            else:
                new = self._decode(change.entry.value)
                old = self._states.get(change.key)
                self._states[change.key] = new
                if old is not None:
                    self._compare(change.key, old, new)

    def _compare(self, key: str, old: PartitionState, new: PartitionState) -> None:
        if new.leader_epoch < old.leader_epoch:
            self._violated("epochs only rise", key, old, new)
        if new.leader != old.leader and new.leader_epoch == old.leader_epoch:
            self._violated("a new leader has a new epoch", key, old, new)
        if not {*new.in_sync, *new.eligible} <= {*new.replicas}:
            self._violated("only replicas are in sync", key, old, new)
        if (
            new.leader_epoch > old.leader_epoch
            and new.leader != NO_LEADER
            and new.leader not in {*old.in_sync, *old.eligible}
        ):
            self._violated("leaders have everything", key, old, new)

    def _violated(self, rule: str, key: str, old: PartitionState, new: PartitionState) -> None:
        self._verdict.violated(rule, f"{key}: {old} became {new}")
