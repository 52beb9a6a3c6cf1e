"""`duolog pipeline run archive`: appends new records of topics and queues to the archive.

Each micro-batch is staged and then committed under the query's id and the batch's number, so that a
batch repeated after a crash leaves each record once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from duolog_pipelines.errors import NotAllowed
from duolog_pipelines.lake import Lake
from duolog_pipelines.option import Option, declared, read_count, read_flag, read_text
from duolog_pipelines.pipeline import Outcome, Pipeline, Span, Stage
from duolog_pipelines.report.section import Section, Table

NAME = "archive"
GAPS = "archive_gaps"


class Archive:
    name = NAME
    description = "Keeps the records of topics and queues in a Delta table after their retention."
    options: Mapping[str, Option] = declared(
        Option(
            "topics",
            "",
            read_text,
            "Topics and queues to archive, separated by commas; replaces pattern.",
        ),
        Option(
            "pattern",
            ".*",
            read_text,
            "Regular expression that matches whole names of topics and queues to archive;"
            " internal topics are never archived.",
        ),
        Option("batch_offsets", "1000000", read_count, "Largest number of offsets in one commit."),
        Option(
            "allow_gaps",
            "false",
            read_flag,
            "`true`: go on when records were removed before they were archived, and list them in"
            f" the table {GAPS}; `false`: fail.",
        ),
        Option(
            "file_bytes",
            str(128 << 20),
            read_count,
            "Target size of files when small ones are compacted.",
        ),
        Option(
            "vacuum_hours",
            "168",
            read_count,
            "Hours after which files that the table no longer names are removed.",
        ),
    )

    def run(self, stage: Stage) -> Outcome:
        from duolog_pipelines.archive.copying import copy_new
        from duolog_pipelines.archive.table import ARCHIVE, archive_table
        from duolog_pipelines.upkeep import tidy

        table = archive_table(stage.lake.table(ARCHIVE))
        copied = copy_new(stage, table)
        stage.progress.step("compacting")
        tidied = tidy(table, stage.options["file_bytes"], stage.options["vacuum_hours"])
        facts = {
            "archived": copied.rows,
            "gaps": copied.gaps,
            "files_compacted": tidied.compacted,
            "files_removed": tidied.removed,
        }
        return Outcome(copied.rows, copied.offsets, facts)

    def backfill(self, stage: Stage, span: Span) -> Outcome:
        raise NotAllowed(
            "The archive holds each record once, and records removed from the log cannot be"
            " archived again. Run it without a time."
        )

    def sections(self, lake: Lake) -> Sequence[Section]:
        topics: dict[str, list[Any]] = {}
        for count, topic, date in _files(lake):
            known = topics.setdefault(topic, [0, 0, date, date])
            known[0] += count
            known[1] += 1
            known[2:] = [min(known[2], date), max(known[3], date)]
        if not topics:
            return []
        rows = [[topic, *known] for topic, known in sorted(topics.items())]
        gaps = lake.rows(GAPS)
        columns = ("topic", "partition", "first_offset", "next_offset")
        missing = [[each[name] for name in columns] for each in gaps]
        return [
            Section(
                "Archive",
                "Records that are kept after their topics' retention.",
                [
                    Table("Topics", ("topic", "records", "files", "from", "to"), rows),
                    *([Table("Not archived in time", columns, missing)] if missing else ()),
                ],
            )
        ]


def _files(lake: Lake) -> Iterator[tuple[int, str, str]]:
    """Record count, topic and day of each file, read without Spark."""
    from deltalake import DeltaTable

    path = lake.table(NAME)
    if DeltaTable.is_deltatable(str(path)):
        told = DeltaTable(path).get_add_actions(flatten=True).to_struct_array().to_pylist()
        for each in told:
            yield each["num_records"], each["partition.topic"], str(each["partition.date"])


PIPELINE: Pipeline = Archive()
