"""Counters of one interval, laid out in a memory-mapped file.

A file is chunks of slots. The first slot is the head; every other one is a key with its counters. A
partition's slot also has a mark: how far its appends in a leader epoch are counted. A slot is valid
once its last word gives its type, so that a killed process leaves none that is half written.

Counters are incremented in place (tally.py, partition_tally.py). The owner of the file
(adapters/counter_files.py, or a test) supplies the chunks.
"""

from collections.abc import Callable, Iterable
from struct import Struct
from typing import NamedTuple

from duolog.core.usage.keys import NOTHING, OTHER, Counts, UsageKey, decode_key

CHUNK_BYTES = 64 * 1024
SLOT_BYTES = 512
SLOTS_PER_CHUNK = CHUNK_BYTES // SLOT_BYTES
SLOTS_MAX = 8_192
"""Limit of keys and partitions of one interval; later ones are counted together."""
SLOTS_RESERVED = 64
"""Slots of the first chunk reserved for what is counted together."""

WORD_BYTES = 8
WORDS = 8
"""Words of a slot, before its name."""
_SLOT_WORDS = SLOT_BYTES // WORD_BYTES
_NAME_AT = WORDS * WORD_BYTES
_NAME_BYTES_MAX = SLOT_BYTES - _NAME_AT - 2
_TYPE_WORD = 7
_HEAD, _KEY, _PARTITION = 0x0144554F4C4F47, 1, 2
_SEQUENCE_WORD, _FROM_WORD, _TO_WORD, _STORED_WORD = 0, 1, 2, 3
_NAME_LENGTH = Struct("=H")
_unpack_words = Struct("=8q").unpack_from
_PARTITION_NAME = Struct("=16si")

REQUESTS, MESSAGES, BYTES, BYTE_SECONDS, ERRORS, MARK, EPOCH = range(7)
"""Word of each counter, relative to the slot's first word; the last two are a partition's mark."""

PARTITION_WORDS = Struct("=6q")
"""Counters and mark of a partition, written together."""

Place = tuple[memoryview, int]
"""Words of a chunk, and the index of a slot's first word in them."""

Chunk = Callable[[], memoryview]
"""Appends a chunk of zeroes to the file; raises OSError if the disk is full."""


class PartitionName(NamedTuple):
    topic_id: bytes
    number: int


class Mark(NamedTuple):
    """Offset and leader epoch up to which a partition's appends are counted."""

    offset: int
    leader_epoch: int


class Slots:
    """Slots of the open interval."""

    def __init__(self, sequence: int, from_ms: int, first: memoryview, more: Chunk) -> None:
        self.sequence = sequence
        self._more = more
        self._chunks = [first]
        self._words = [first.cast("q")]
        self._places: dict[UsageKey | PartitionName, Place] = {}
        self._counting: list[tuple[UsageKey, Place]] = []
        """All slots but the head; a key that several partitions share occurs several times."""
        self._used = 1
        """Slots given out in order, the head included."""
        self._together_used = 0
        """Number of reserved slots in use, from the end of the first chunk."""
        self._head = self._words[0]
        self._head[_SEQUENCE_WORD] = sequence
        self._head[_FROM_WORD] = from_ms
        self._head[_TYPE_WORD] = _HEAD

    @property
    def from_ms(self) -> int:
        return self._head[_FROM_WORD]

    @from_ms.setter
    def from_ms(self, from_ms: int) -> None:
        self._head[_FROM_WORD] = from_ms

    @property
    def stored_ms(self) -> int:
        """Time up to which storage is counted; 0 if unknown."""
        return self._head[_STORED_WORD]

    @stored_ms.setter
    def stored_ms(self, stored_ms: int) -> None:
        self._head[_STORED_WORD] = stored_ms

    def close(self, to_ms: int) -> None:
        self._head[_TO_WORD] = to_ms

    def key(self, key: UsageKey) -> Place:
        """The key's slot; a shared one if there are too many keys, or no room."""
        place = self._places.get(key)
        if place is None:
            place = self._free_slot(key, key.encode(), _KEY) or self._together(key)
            self._places[key] = place
        return place

    def partition(self, key: UsageKey, name: PartitionName, mark: Mark) -> Place | None:
        """The partition's slot with the mark set; None if there is no room for it."""
        place = self._places.get(name)
        if place is None:
            encoded = _PARTITION_NAME.pack(*name) + key.encode()
            place = self._free_slot(key, encoded, _PARTITION, mark)
            if place is not None:
                self._places[name] = place
        else:
            words, at = place
            words[at + MARK], words[at + EPOCH] = mark
        return place

    def _free_slot(
        self, key: UsageKey, name: bytes, kind: int, mark: Mark | None = None
    ) -> Place | None:
        number = self._used
        if len(name) > _NAME_BYTES_MAX or number >= SLOTS_MAX:
            return None
        chunk, slot = divmod(number, SLOTS_PER_CHUNK)
        if chunk == 0 and slot >= SLOTS_PER_CHUNK - SLOTS_RESERVED:
            chunk, slot, number = 1, 0, SLOTS_PER_CHUNK
        if chunk == len(self._chunks):
            try:
                self._chunks.append(self._more())
            except OSError:
                return None
            self._words.append(self._chunks[chunk].cast("q"))
        self._used = number + 1
        return self._write(key, chunk, slot, name, kind, mark)

    def _together(self, key: UsageKey) -> Place:
        folded = key.folded
        place = self._places.get(folded)
        if place is None:
            if self._together_used >= SLOTS_RESERVED // 2:
                # Half is enough for every kind and operation without naming the tenant.
                folded = folded._replace(tenant=OTHER)
                place = self._places.get(folded)
            if place is None:
                self._together_used += 1
                assert self._together_used <= SLOTS_RESERVED, "there are few operations"
                slot = SLOTS_PER_CHUNK - self._together_used
                place = self._write(folded, 0, slot, folded.encode(), _KEY)
            self._places[folded] = place
        return place

    def _write(
        self,
        key: UsageKey,
        chunk: int,
        slot: int,
        name: bytes,
        kind: int,
        mark: Mark | None = None,
    ) -> Place:
        at = slot * SLOT_BYTES + _NAME_AT
        data, words = self._chunks[chunk], self._words[chunk]
        _NAME_LENGTH.pack_into(data, at, len(name))
        data[at + _NAME_LENGTH.size : at + _NAME_LENGTH.size + len(name)] = name
        at = slot * _SLOT_WORDS
        if mark is not None:
            words[at + MARK], words[at + EPOCH] = mark
        words[at + _TYPE_WORD] = kind
        self._counting.append((key, (words, at)))
        return words, at

    def counts(self) -> list[tuple[UsageKey, Counts]]:
        """Counts so far, of keys that have any."""
        return _added_up(
            (key, Counts(*words[at : at + len(NOTHING)])) for key, (words, at) in self._counting
        )

    @property
    def is_empty(self) -> bool:
        return not self.counts()


class Interval(NamedTuple):
    """Content of a file into which nobody counts any more."""

    sequence: int
    from_ms: int
    to_ms: int
    """End of the interval; 0 if it was never closed because its process was killed."""
    stored_ms: int
    counts: list[tuple[UsageKey, Counts]]
    """Counts in the order of the slots, of keys that have any."""
    marks: dict[PartitionName, Mark]


def read_interval(data: bytes) -> Interval | None:
    """Parses a file of counters; None if it was never begun, or is another kind of file."""
    if len(data) < SLOT_BYTES:
        return None
    head = _unpack_words(data, 0)
    if head[_TYPE_WORD] != _HEAD:
        return None
    counts: list[tuple[UsageKey, Counts]] = []
    marks: dict[PartitionName, Mark] = {}
    for at in range(SLOT_BYTES, len(data) - len(data) % SLOT_BYTES, SLOT_BYTES):
        words = _unpack_words(data, at)
        name = _name_at(data, at)
        if words[_TYPE_WORD] == _PARTITION and len(name) >= _PARTITION_NAME.size:
            partition = PartitionName(*_PARTITION_NAME.unpack_from(name))
            marks[partition] = Mark(words[MARK], words[EPOCH])
            name = name[_PARTITION_NAME.size :]
        elif words[_TYPE_WORD] != _KEY:
            continue
        key = decode_key(name)
        if key is not None:
            counts.append((key, Counts(*words[: len(NOTHING)])))
    return Interval(
        head[_SEQUENCE_WORD],
        head[_FROM_WORD],
        head[_TO_WORD],
        head[_STORED_WORD],
        _added_up(counts),
        marks,
    )


def _added_up(rows: Iterable[tuple[UsageKey, Counts]]) -> list[tuple[UsageKey, Counts]]:
    sums: dict[UsageKey, Counts] = {}
    for key, counts in rows:
        if counts != NOTHING:
            sums[key] = sums[key].plus(counts) if key in sums else counts
    return list(sums.items())


def _name_at(data: bytes, at: int) -> bytes:
    begin = at + _NAME_AT + _NAME_LENGTH.size
    (length,) = _NAME_LENGTH.unpack_from(data, at + _NAME_AT)
    return data[begin : begin + min(length, _NAME_BYTES_MAX)]
