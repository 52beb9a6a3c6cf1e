"""The pipeline `usage`, as the registry knows it."""

from collections.abc import Sequence

from duolog_pipelines.lake import Lake
from duolog_pipelines.option import Option, declared, read_choice, read_count, read_text
from duolog_pipelines.pipeline import Outcome, Pipeline, Span, Stage
from duolog_pipelines.report.section import Section


class UsagePipeline:
    name = "usage"
    description = "Sums usage by hour and by day, for each tenant, queue and topic."
    options = declared(
        Option("topic", "__usage", read_text, "Topic to which nodes write usage."),
        Option(
            "group",
            "duolog-usage",
            read_text,
            "Consumer group whose lag shows the pipeline's progress.",
        ),
        Option(
            "records_per_batch", "20000", read_count, "Largest number of records in a micro-batch."
        ),
        Option(
            "gaps",
            "fail",
            read_choice("fail", "report"),
            "Reaction to missing sequences of a journal: `fail` the run, or only `report` them.",
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
