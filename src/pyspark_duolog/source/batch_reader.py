"""Reader of batch queries: `spark.read.format("duolog")`."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from duolog.wire.kafka.special_offsets import EARLIEST
from pyspark_duolog.arrow_rows import arrow_schema
from pyspark_duolog.columns import check_schema
from pyspark_duolog.errors import InvalidOffsets
from pyspark_duolog.source.brokers import Brokers
from pyspark_duolog.source.filters import Bounded, bounded_by
from pyspark_duolog.source.offsets import Offsets, TopicOffsets
from pyspark_duolog.source.options import SourceOptions
from pyspark_duolog.source.planning import Range, Seen, at_bound, ranges_between, split, still_there
from pyspark_duolog.source.reading import RangeReader


class RangePartition(InputPartition):
    """A range of offsets, for one task."""

    def __init__(self, wanted: Range) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class _Pushing:
    """`pushFilters` of a reader, which Spark calls only where push-down is switched on.

    If it is switched off, Spark refuses readers that have a `pushFilters` of their own, and a plain
    read would need a setting. Spark looks at the function behind the method, so this one shows the
    inherited one.
    """

    def __init__(self, reader: "DuologBatchReader") -> None:
        self._reader = reader
        self.__func__ = DataSourceReader.pushFilters

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        self._reader.bounded = bounded_by(filters)
        return filters


class DuologBatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema)
        self._options = options
        self._schema = schema
        self.bounded = Bounded()

    @property
    def pushFilters(self) -> _Pushing:
        return _Pushing(self)

    def partitions(self) -> list[InputPartition]:
        brokers = Brokers(self._options)
        seen = brokers.see()
        for name in self._options.subscribe or self._options.assign or ():
            if name not in seen:
                raise InvalidOffsets(f"there is no topic '{name}'")
        start = starting_offsets(brokers, self._options, seen, EARLIEST)
        end = at_bound(seen, self._options.ending_offsets)
        ranges = still_there(
            ranges_between(start, end), seen, fail_on_data_loss=self._options.fail_on_data_loss
        )
        ranges = self._narrowed(brokers, seen, ranges)
        return [RangePartition(each) for each in split(ranges, self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, RangePartition):
            yield from RangeReader(
                self._options, partition.wanted, arrow_schema(self._schema)
            ).read()

    def _narrowed(self, brokers: Brokers, seen: Seen, ranges: list[Range]) -> list[Range]:
        bounded = self.bounded
        youngest = {}
        if bounded.timestamp_ms_min is not None:
            youngest = brokers.offsets_at(seen, bounded.timestamp_ms_min)
        narrowed = []
        for each in ranges:
            first_offset = max(bounded.first_offset, youngest.get((each.topic, each.partition), 0))
            left = each._replace(
                first_offset=max(each.first_offset, first_offset),
                end_offset=min(each.end_offset, bounded.end_offset),
            )
            if left.offset_count > 0 and bounded.has(each.topic, each.partition):
                narrowed.append(left)
        return narrowed


def starting_offsets(brokers: Brokers, options: SourceOptions, seen: Seen, default: int) -> Offsets:
    """Offsets at which a query begins that has read nothing yet."""
    if options.starting_timestamp is None:
        wanted = options.starting_offsets
        return at_bound(seen, default if wanted is None else wanted)
    found = brokers.offsets_at(seen, options.starting_timestamp)
    return {
        name: TopicOffsets(topic.id, {each: found[name, each] for each in topic.partitions}, {})
        for name, topic in seen.items()
    }
