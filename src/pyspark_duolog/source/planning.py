"""Plans a query's reads: its start, the end of each micro-batch, and the range of each task.

Pure: told what the brokers have, it returns offsets and ranges.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from duolog.client.offsets import Bounds, TopicPartition
from duolog.wire.kafka.special_offsets import EARLIEST, LATEST
from pyspark_duolog.errors import DataLost, InvalidOffsets, place
from pyspark_duolog.source.offsets import Offsets, TopicOffsets
from pyspark_duolog.source.options import PartitionOffsets


class TopicState(NamedTuple):
    id: str
    partitions: Mapping[int, Bounds]


Seen = Mapping[str, TopicState]
"""The subscribed topics that exist, with the bounds of their partitions."""


class Range(NamedTuple):
    """Offsets that one task reads."""

    topic: str
    topic_id: str
    partition: int
    first_offset: int
    end_offset: int

    @property
    def offset_count(self) -> int:
        return self.end_offset - self.first_offset


def at_bound(seen: Seen, wanted: int | PartitionOffsets) -> Offsets:
    """Offsets of all partitions: EARLIEST, LATEST, or those given by a user, which must cover
    all."""
    if not isinstance(wanted, int):
        _check_given(seen, wanted)
    offsets = {}
    for name, topic in seen.items():
        chosen = {
            partition: wanted if isinstance(wanted, int) else wanted[name][partition]
            for partition in topic.partitions
        }
        resolved = {
            partition: _resolve(offset, topic.partitions[partition])
            for partition, offset in chosen.items()
        }
        offsets[name] = TopicOffsets(topic.id, resolved, {})
    return offsets


def continued(start: Offsets, seen: Seen, *, fail_on_data_loss: bool) -> Offsets:
    """Start of the next micro-batch: the end of the last one, and for new partitions their start.

    A partition that no longer has the query's offset raises DataLost, or is read from its start.
    """
    if fail_on_data_loss:
        for name, topic in start.items():
            _check_kept(name, topic, seen.get(name))
    begun = {}
    for name, state in seen.items():
        before = start.get(name)
        known = before.next if before is not None and before.id == state.id else {}
        began = {
            partition: bounds.start_offset
            for partition, bounds in state.partitions.items()
            if not bounds.start_offset <= known.get(partition, -1) <= bounds.end_offset
        }
        begun[name] = TopicOffsets(
            state.id,
            {each: began.get(each, known.get(each, 0)) for each in state.partitions},
            began,
        )
    return begun


def advanced(begun: Offsets, end: Mapping[TopicPartition, int]) -> Offsets:
    """The same start offsets, read up to the given ends."""
    return {
        name: topic._replace(next={each: end[name, each] for each in topic.next})
        for name, topic in begun.items()
    }


def backlog(begun: Offsets, seen: Seen) -> dict[TopicPartition, int]:
    """Number of unread offsets of each partition."""
    return {
        (name, partition): max(0, seen[name].partitions[partition].end_offset - offset)
        for name, topic in begun.items()
        for partition, offset in topic.next.items()
    }


def capped(seen: Seen, until: Seen) -> Seen:
    """Current bounds, limited to the end offsets of an earlier look."""
    kept = {}
    for name, state in seen.items():
        before = until.get(name)
        if before is None or before.id != state.id:
            continue
        kept[name] = state._replace(
            partitions={
                partition: bounds._replace(
                    end_offset=min(bounds.end_offset, before.partitions[partition].end_offset)
                )
                for partition, bounds in state.partitions.items()
                if partition in before.partitions
            }
        )
    return kept


def shared_out(waiting: Mapping[TopicPartition, int], total_max: int) -> dict[TopicPartition, int]:
    """Up to `total_max` of the waiting offsets, in proportion to each partition's share.

    Rounded fairly: the total is exactly the maximum if enough are waiting.
    """
    total = sum(waiting.values())
    if total <= total_max:
        return dict(waiting)
    shares = {key: total_max * count // total for key, count in waiting.items()}
    left = total_max - sum(shares.values())
    by_remainder = sorted(waiting, key=lambda key: (-(total_max * waiting[key] % total), key))
    for key in by_remainder[:left]:
        shares[key] += 1
    return shares


def within_bytes(
    waiting: Mapping[TopicPartition, int],
    bytes_per_offset: Mapping[TopicPartition, float],
    bytes_max: int,
) -> dict[TopicPartition, int]:
    """Offsets whose records take about `bytes_max`; at least one for each partition that has
    any."""
    total = sum(count * bytes_per_offset[key] for key, count in waiting.items() if count)
    if total <= bytes_max:
        return dict(waiting)
    return {
        key: min(count, max(1, int(count * bytes_max / total))) if count else 0
        for key, count in waiting.items()
    }


def ranges_between(start: Offsets, end: Offsets) -> list[Range]:
    """Ranges that a micro-batch reads; always the same for the same offsets."""
    ranges = []
    for name, topic in sorted(end.items()):
        before = start.get(name)
        known = before.next if before is not None and before.id == topic.id else {}
        for partition, end_offset in sorted(topic.next.items()):
            first_offset = topic.began.get(partition, known.get(partition, -1))
            if not 0 <= first_offset <= end_offset:
                raise InvalidOffsets(
                    f"{place(name, partition)} is to be read from offset {first_offset} "
                    f"to {end_offset}, which is impossible"
                )
            if first_offset < end_offset:
                ranges.append(Range(name, topic.id, partition, first_offset, end_offset))
    return ranges


def still_there(ranges: Iterable[Range], seen: Seen, *, fail_on_data_loss: bool) -> list[Range]:
    """The ranges as far as the brokers still have them; DataLost if something is missing and must
    not be."""
    kept = []
    for each in ranges:
        state = seen.get(each.topic)
        if fail_on_data_loss:
            for offset in (each.first_offset, each.end_offset):
                planned = TopicOffsets(each.topic_id, {each.partition: offset}, {})
                _check_kept(each.topic, planned, state)
        if state is None or state.id != each.topic_id or each.partition not in state.partitions:
            continue
        bounds = state.partitions[each.partition]
        left = each._replace(
            first_offset=max(each.first_offset, bounds.start_offset),
            end_offset=min(each.end_offset, bounds.end_offset),
        )
        if left.offset_count > 0:
            kept.append(left)
    return kept


def split(ranges: Sequence[Range], count_min: int | None) -> list[Range]:
    """The same offsets in at least `count_min` ranges of similar size."""
    total = sum(each.offset_count for each in ranges)
    if count_min is None or len(ranges) >= count_min or not total:
        return list(ranges)
    size = max(1, total // count_min)
    return [
        each._replace(first_offset=first, end_offset=min(first + size, each.end_offset))
        for each in ranges
        for first in range(each.first_offset, each.end_offset, size)
    ]


def only(seen: Seen, assigned: Mapping[str, Iterable[int]]) -> Seen:
    """The partitions that a user named. InvalidOffsets if one does not exist."""
    kept = {}
    for name, partitions in assigned.items():
        if name not in seen:
            continue
        state = seen[name]
        for partition in partitions:
            if partition not in state.partitions:
                raise InvalidOffsets(f"there is no {place(name, partition)}")
        kept[name] = state._replace(
            partitions={each: state.partitions[each] for each in partitions}
        )
    return kept


def _resolve(offset: int, bounds: Bounds) -> int:
    if offset == EARLIEST:
        return bounds.start_offset
    return bounds.end_offset if offset == LATEST else offset


def _check_given(seen: Seen, wanted: PartitionOffsets) -> None:
    asked = {(name, each) for name, partitions in wanted.items() for each in partitions}
    there = {(name, each) for name, topic in seen.items() for each in topic.partitions}
    for name, partition in sorted(asked - there):
        raise InvalidOffsets(f"an offset is given for {place(name, partition)}, which is not read")
    for name, partition in sorted(there - asked):
        raise InvalidOffsets(f"no offset is given for {place(name, partition)}")


def _check_kept(name: str, topic: TopicOffsets, state: TopicState | None) -> None:
    if state is None:
        raise DataLost(
            f"topic '{name}' was deleted, or is no longer subscribed to, "
            f"after the query had read {_read_to(topic)}"
        )
    if state.id != topic.id:
        raise DataLost(
            f"topic '{name}' was deleted and recreated: the query had read {_read_to(topic)} of "
            f"topic id {topic.id}, and now the id is {state.id}"
        )
    for partition, offset in topic.next.items():
        bounds = state.partitions.get(partition)
        if bounds is None:
            raise DataLost(f"{place(name, partition, offset)} is no longer there")
        if offset < bounds.start_offset:
            raise DataLost(
                f"{place(name, partition, offset)} was removed before the query had read it; "
                f"the first one left is {bounds.start_offset}"
            )
        if offset > bounds.end_offset:
            raise DataLost(_beyond_the_end(name, partition, offset, bounds))


def _beyond_the_end(name: str, partition: int, offset: int, bounds: Bounds) -> str:
    return (
        f"{place(name, partition, offset)} lies beyond the partition's end, "
        f"offset {bounds.end_offset}: the checkpoint or the offsets given are not of this topic"
    )


def _read_to(topic: TopicOffsets) -> str:
    ends = ", ".join(f"{each} up to offset {offset}" for each, offset in sorted(topic.next.items()))
    return f"partition {ends}"
