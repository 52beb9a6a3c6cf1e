"""The pipeline `usage`, as the registry knows it."""

from collections.abc import Sequence

from duolog_pipelines.lake import Lake
from duolog_pipelines.option import Option, declared, read_choice, read_count, read_text
from duolog_pipelines.pipeline import Outcome, Pipeline, Span, Stage
from duolog_pipelines.report.section import Section


class UsagePipeline:
    name = "usage"
    description = "Usage by hour and by day, of each tenant, queue and topic."
    options = declared(
        Option("topic", "__usage", read_text, "Where nodes write what was used."),
        Option(
            "group", "duolog-usage", read_text, "The consumer group whose lag shows how far it is."
        ),
        Option("records_per_batch", "20000", read_count, "Records that are taken at a time."),
        Option(
            "gaps",
            "fail",
            read_choice("fail", "report"),
            "Whether a run fails when sequences of a journal are missing: `fail` or `report`.",
        ),
    )

    def run(self, stage: Stage) -> Outcome:
        from duolog_pipelines.usage import job

        return job.run(stage)

    def backfill(self, stage: Stage, span: Span) -> Outcome:
        from duolog_pipelines.usage import job

        return job.backfill(stage, span)

    def sections(self, lake: Lake) -> Sequence[Section]:
        from duolog_pipelines.usage.sections import usage_sections

        return usage_sections(lake)


PIPELINE: Pipeline = UsagePipeline()
