"""`duolog pipeline run replay --once`: writes a range of the archive to a topic or queue, once."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from duolog_pipelines.errors import InvalidInput, Missing, NotAllowed
from duolog_pipelines.lake import Lake
from duolog_pipelines.option import Option, declared, read_choice, read_text
from duolog_pipelines.pipeline import Outcome, Pipeline, Span, Stage
from duolog_pipelines.report.section import Section

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from duolog.cli.positions import Range
    from duolog_pipelines.archive.replaying import Replaying

NAME = "replay"
_ORIGINAL, _NOW = "original", "now"


class Replay:
    name = NAME
    description = "Writes a range of the archive back to a topic or queue, in order and once."
    options: Mapping[str, Option] = declared(
        Option(
            "id",
            "",
            read_text,
            "Name of this replay: run again under it, nothing is written twice.",
        ),
        Option("topic", "", read_text, "Archived topic or queue to read."),
        Option("to", "", read_text, "Existing topic or queue to write to."),
        Option(
            "range",
            "start:end",
            read_text,
            "Range of offsets or times, end excluded: `10:20`, `@-1h:end`,"
            " `@2026-01-01T00:00Z:@2026-01-02T00:00Z`.",
        ),
        Option("topic_id", "", read_text, "Id of the topic, if several have had the name in turn."),
        Option(
            "timestamps",
            _ORIGINAL,
            read_choice(_ORIGINAL, _NOW),
            "`original`: keep timestamps, if the topic allows it; `now`: assign new ones.",
        ),
    )

    def run(self, stage: Stage) -> Outcome:
        from duolog.cli.failures import Failure
        from duolog.cli.positions import parse_range

        text = stage.options["range"]
        try:
            return _replayed(stage, text, parse_range(text, stage.now_ms))
        except Failure as failure:
            raise InvalidInput(str(failure)) from None

    def backfill(self, stage: Stage, span: Span) -> Outcome:
        from duolog.cli.positions import Position, Range

        wanted = Range(Position("time", span.from_ms), Position("time", span.to_ms))
        return _replayed(stage, f"@{span.from_ms}:@{span.to_ms}", wanted)

    def sections(self, lake: Lake) -> Sequence[Section]:
        return []


def _replayed(stage: Stage, text: str, wanted: "Range") -> Outcome:
    from duolog_pipelines.archive.replaying import Replaying, Request

    given = stage.options
    for name in ("id", "topic", "to"):
        if given[name] is None:
            raise InvalidInput(f"A replay needs the option {name}. {Replay.options[name].doc}")
    sink = {
        "kafka.bootstrap.servers": stage.bootstrap_servers,
        "topic": given["to"],
        "stagingDirectory": str(stage.lake.exports(NAME)),
    }
    replaying = Replaying(given["id"], sink)
    replaying.begin(Request(given["topic"], given["to"], text, given["topic_id"]))
    was_done = replaying.is_done
    if not was_done:
        if replaying.is_planned:
            stage.progress.step("sending what is left")
            replaying.send_rest()
        else:
            _begin(stage, wanted, replaying)
    count = replaying.record_count()
    rows = 0 if was_done else count
    return Outcome(rows, facts={"replayed": count, "was_done_before": was_done})


def _begin(stage: Stage, wanted: "Range", replaying: "Replaying") -> None:
    from duolog_pipelines.archive.selection import chosen, incarnations, placed
    from duolog_pipelines.archive.target import Target

    given = stage.options
    stage.progress.step("reading the archive")
    rows = chosen(_of_topic(stage, given["topic"]), wanted, given["topic_id"])
    ids = incarnations(rows)
    if not ids:
        raise Missing(
            f"The archive has nothing of '{given['topic']}' in that range. Run the pipeline"
            " archive first, or give another range."
        )
    if len(ids) > 1:
        raise InvalidInput(
            f"Several topics have had the name '{given['topic']}': {', '.join(ids)}. Choose one"
            " with the option topic_id."
        )
    target = Target.of(replaying.options, given["to"])
    keep = given["timestamps"] == _ORIGINAL
    if keep:
        oldest = rows.selectExpr("min(unix_millis(timestamp)) AS oldest").first()
        if oldest is not None and target.removes(oldest.oldest, stage.now_ms):
            raise NotAllowed(
                f"The topic '{given['to']}' would remove records of that age at once. Give"
                " -O timestamps=now, or a longer retention.ms."
            )
    stage.progress.step("sending")
    replaying.send(placed(rows, target.partition_count, keep_timestamps=keep))


def _of_topic(stage: Stage, topic: str) -> "DataFrame":
    from duolog_pipelines.archive.table import ARCHIVE, archive_table

    table = archive_table(stage.lake.table(ARCHIVE))
    files = [each.path for each in table.statistics() if each.partition["topic"] == topic]
    return table.frame(stage.spark, files)


PIPELINE: Pipeline = Replay()
