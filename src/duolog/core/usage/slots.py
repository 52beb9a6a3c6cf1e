"""The counters of one interval, as they lie in a file that is mapped into memory.

A file is chunks of slots. The first slot of all is the head; every other one is a key with its
counters, or a mark: how far a partition's records are counted. A slot is valid once its last
word says what it is, so that a process that is killed in between leaves none that lies.

Counters are added to in place (tally.py). Whoever has the file (adapters/counter_files.py, or
a test) gives the chunks.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from duolog.core.usage.keys import NOTHING, OTHER, Counts, UsageKey, decode_key

CHUNK_BYTES = 64 * 1024
SLOT_BYTES = 512
SLOTS_PER_CHUNK = CHUNK_BYTES // SLOT_BYTES
SLOTS_MAX = 8_192
"""Keys and marks of one interval; what comes then is counted together."""
SLOTS_RESERVED = 64
"""Of the first chunk, for what is counted together."""

WORD_BYTES = 8
_WORDS = SLOT_BYTES // WORD_BYTES
_NAME_AT = 8 * WORD_BYTES
_NAME_BYTES_MAX = SLOT_BYTES - _NAME_AT - 2
_TYPE_WORD = 7
_NO_TYPE, _HEAD, _KEY, _MARK = 0, 0x0144554F4C4F47, 1, 2
_SEQUENCE_WORD, _FROM_WORD, _TO_WORD, _STORED_WORD = 0, 1, 2, 3
_NAME_LENGTH = Struct("=H")
_SLOT_WORDS = Struct("=8q")
_MARK_NAME = Struct("=16si")

REQUESTS, MESSAGES, BYTES, BYTE_SECONDS, ERRORS = range(5)
"""Places of a slot's counters, from the slot's own place on."""

Place = tuple[memoryview, int]
"""The words of a chunk, and where in them a slot begins."""

Chunk = Callable[[], memoryview]
"""Another chunk of zeroes at the file's end. OSError when the disk is full."""


class PartitionName(NamedTuple):
    topic_id: bytes
    number: int


class Slots:
    """What is being counted into."""

    def __init__(self, sequence: int, from_ms: int, first: memoryview, more: Chunk) -> None:
        self.sequence = sequence
        self._more = more
        self._chunks = [first]
        self._words = [first.cast("q")]
        self._places: dict[UsageKey | PartitionName, Place] = {}
        self._used = 1
        """Slots that were given out one behind the other, the head included."""
        self._together_used = 0
        """Of the reserved ones, which are given out from the end of the first chunk."""
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
        """Up to when storage is counted; 0 if that is not known."""
        return self._head[_STORED_WORD]

    @stored_ms.setter
    def stored_ms(self, stored_ms: int) -> None:
        self._head[_STORED_WORD] = stored_ms

    def close(self, to_ms: int) -> None:
        self._head[_TO_WORD] = to_ms

    def key(self, key: UsageKey) -> Place:
        """Where the key is counted; with others where there are too many, or no room."""
        place = self._places.get(key)
        if place is None:
            place = self._free_slot(key.encode(), _KEY) or self._together(key)
            self._places[key] = place
        return place

    def mark(self, partition: PartitionName, offset: int) -> Place | None:
        """Where it is noted how far the partition is counted, which is up to the offset now."""
        place = self._places.get(partition)
        if place is None:
            place = self._free_slot(_MARK_NAME.pack(*partition), _MARK, offset)
            if place is not None:
                self._places[partition] = place
        return place

    def _free_slot(self, name: bytes, kind: int, first_word: int = 0) -> Place | None:
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
        return self._write(chunk, slot, name, kind, first_word)

    def _together(self, key: UsageKey) -> Place:
        folded = key.folded
        place = self._places.get(folded)
        if place is None:
            if self._together_used >= SLOTS_RESERVED // 2:
                # Half is enough for every kind and operation of tenants that are not named.
                folded = folded._replace(tenant=OTHER)
                place = self._places.get(folded)
            if place is None:
                self._together_used += 1
                assert self._together_used <= SLOTS_RESERVED, "there are few operations"
                slot = SLOTS_PER_CHUNK - self._together_used
                place = self._write(0, slot, folded.encode(), _KEY, 0)
            self._places[folded] = place
        return place

    def _write(self, chunk: int, slot: int, name: bytes, kind: int, first_word: int) -> Place:
        at = slot * SLOT_BYTES + _NAME_AT
        data, words = self._chunks[chunk], self._words[chunk]
        _NAME_LENGTH.pack_into(data, at, len(name))
        data[at + _NAME_LENGTH.size : at + _NAME_LENGTH.size + len(name)] = name
        words[slot * _WORDS] = first_word
        words[slot * _WORDS + _TYPE_WORD] = kind
        return words, slot * _WORDS

    def counts(self) -> Iterator[tuple[UsageKey, Counts]]:
        """What is counted so far, of keys that have any; each place once."""
        told: set[tuple[int, int]] = set()
        for key, (words, at) in self._places.items():
            if isinstance(key, UsageKey) and (id(words), at) not in told:
                told.add((id(words), at))
                found = Counts(*words[at : at + len(NOTHING)])
                if found != NOTHING:
                    yield key, found

    @property
    def is_empty(self) -> bool:
        return next(self.counts(), None) is None


class Interval(NamedTuple):
    """What a file says, once nobody counts into it any more."""

    sequence: int
    from_ms: int
    to_ms: int
    """0 if it was never closed: its process was killed."""
    stored_ms: int
    counts: list[tuple[UsageKey, Counts]]
    """In the order of the slots, of keys that have any."""
    marks: dict[PartitionName, int]


def read_interval(data: bytes) -> Interval | None:
    """None for a file that was never begun, or is none."""
    if len(data) < SLOT_BYTES:
        return None
    head = _SLOT_WORDS.unpack_from(data, 0)
    if head[_TYPE_WORD] != _HEAD:
        return None
    counts: list[tuple[UsageKey, Counts]] = []
    marks: dict[PartitionName, int] = {}
    for at in range(SLOT_BYTES, len(data) - len(data) % SLOT_BYTES, SLOT_BYTES):
        words = _SLOT_WORDS.unpack_from(data, at)
        name = _name_at(data, at)
        if words[_TYPE_WORD] == _KEY:
            key, found = decode_key(name), Counts(*words[: len(NOTHING)])
            if key is not None and found != NOTHING:
                counts.append((key, found))
        elif words[_TYPE_WORD] == _MARK and len(name) == _MARK_NAME.size:
            marks[PartitionName(*_MARK_NAME.unpack(name))] = words[0]
    return Interval(
        head[_SEQUENCE_WORD],
        head[_FROM_WORD],
        head[_TO_WORD],
        head[_STORED_WORD],
        counts,
        marks,
    )


def _name_at(data: bytes, at: int) -> bytes:
    begin = at + _NAME_AT + _NAME_LENGTH.size
    (length,) = _NAME_LENGTH.unpack_from(data, at + _NAME_AT)
    return data[begin : begin + min(length, _NAME_BYTES_MAX)]
