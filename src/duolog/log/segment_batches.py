"""Iterates over the batches of one segment, with or without damaged ones."""

from collections.abc import Iterator, Sequence

from duolog.log.file_names import offset_name
from duolog.log.quarantine import DamagedRange
from duolog.log.scan import Scanner
from duolog.log.segment_files import SegmentFiles
from duolog.log.walk import WINDOW_BYTES, walk_headers
from duolog.model.errors import CorruptBatch
from duolog.ports.disk import Disk
from duolog.records.header import BatchHeader


class SegmentBatches(SegmentFiles):
    __slots__ = ("base_offset", "damage", "damaged", "size")

    def __init__(self, disk: Disk, directory: str, base_offset: int, size: int) -> None:
        super().__init__(disk, f"{directory}/{offset_name(base_offset)}")
        self.base_offset = base_offset
        """First offset that this segment may hold."""
        self.size = size
        self.damage: tuple[DamagedRange, ...] = ()
        """Known damage of this segment, ascending."""
        self.damaged: dict[int, int] = {}
        """Position of known damage → position at which it ends."""

    def headers_from(self, position: int) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch from the one at `position` to the present end.

        Damage, known or not, is skipped: state that is derived from headers needs the rest.
        """
        offset = self.base_offset
        try:
            for at, header in self.walk_from(position):
                yield at, header
                position, offset = at + header.size, header.next_offset
        except CorruptBatch:
            yield from self.intact_from(position, offset)

    def walk_from(
        self, position: int, window_bytes: int = WINDOW_BYTES
    ) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch, as `headers_from`; unknown damage raises
        CorruptBatch."""
        return walk_headers(
            self.file,
            self.past_damage(position),
            self.size,
            damaged=self.damaged,
            window_bytes=window_bytes,
        )

    def intact_from(self, position: int, offset: int) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch, verified; the first has at least that offset."""
        scanner = Scanner(self.file, self.base_offset, end=self.size)
        for found in scanner.scan(position, offset):
            if not isinstance(found, DamagedRange):
                yield found

    def past_damage(self, position: int) -> int:
        """The position, or the end of the damage that it lies in: an index may point there."""
        for damage in self.damage:
            if damage.position <= position < damage.end_position:
                return damage.end_position
        return position

    def set_damage(self, damage: Sequence[DamagedRange]) -> None:
        self.damage = tuple(sorted(damage))
        self.damaged = {found.position: found.end_position for found in damage if found.length}
