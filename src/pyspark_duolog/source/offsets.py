"""Offsets of a streaming query, as Spark keeps them in its checkpoint, in JSON.

    {"version": 1, "topics": {"orders": {"id": "…", "next": {"0": 17}, "from": {"1": 0}}}}

`id` tells a topic from a later one of the same name. `next` has the next offset to read. `from`
has the offset at which this micro-batch began to read a partition, if that is not the end of the
previous one: the partition is new, or records were lost and the query may go on without them. It
is written down so that a repeated batch is the same.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark_duolog.errors import InvalidOffsets

VERSION = 1


class TopicOffsets(NamedTuple):
    id: str
    next: Mapping[int, int]
    began: Mapping[int, int]
    """The field `from` above, which is a keyword of Python."""


Offsets = Mapping[str, TopicOffsets]


def offsets_to_json(offsets: Offsets) -> dict[str, Any]:
    """Encode with a fixed key order, because Spark compares the texts."""
    topics = {}
    for name, topic in sorted(offsets.items()):
        topics[name] = {"id": topic.id, "next": _texts(topic.next)}
        if topic.began:
            topics[name]["from"] = _texts(topic.began)
    return {"version": VERSION, "topics": topics}


def offsets_from_json(value: Any) -> Offsets:
    """Decode offsets. InvalidOffsets for anything that offsets_to_json would not write."""
    try:
        if value["version"] != VERSION:
            raise InvalidOffsets(
                f"the checkpoint has offsets of version {value['version']}, not {VERSION}"
            )
        return {
            name: TopicOffsets(
                _checked(topic["id"], str), _numbers(topic["next"]), _numbers(topic.get("from", {}))
            )
            for name, topic in value["topics"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidOffsets(f"the checkpoint has malformed offsets: {value}") from None


def _texts(partitions: Mapping[int, int]) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(partitions.items())}


def _numbers(partitions: Mapping[str, Any]) -> dict[int, int]:
    numbers = {int(key): _checked(offset, int) for key, offset in partitions.items()}
    if any(number < 0 for pair in numbers.items() for number in pair):
        raise ValueError("negative")
    return numbers


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value
