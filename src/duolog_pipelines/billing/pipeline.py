"""The pipeline `billing`, as the registry knows it."""

from collections.abc import Sequence
from pathlib import Path

from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.price_list import PriceList, parse_price_list
from duolog_pipelines.errors import InvalidInput
from duolog_pipelines.lake import Lake
from duolog_pipelines.option import Option, declared, read_choice, read_flag, read_hours, read_text
from duolog_pipelines.pipeline import Outcome, Pipeline, Span, Stage
from duolog_pipelines.report.section import Section


def _read_price_list(text: str) -> PriceList:
    try:
        content = Path(text).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"The price list {text} cannot be read: {error}. Check the path."
        ) from None
    return parse_price_list(content, text)


class BillingPipeline:
    name = "billing"
    description = "Invoices of each tenant and month, and whether nodes have counted the same."
    options = declared(
        Option("prices", "", _read_price_list, "The price list, a TOML file."),
        Option(
            "grace_hours",
            "24",
            read_hours,
            "Hours from the end of a month until its invoices are closed.",
        ),
        Option(
            "period",
            "",
            Period.parse,
            "A closed month, `YYYY-MM`, to compute again and compare; nothing else is done then.",
        ),
        Option("reconcile", "true", read_flag, "Whether nodes are asked what they have counted."),
        Option("topic", "__usage", read_text, "As for `usage`, which is run first."),
        Option(
            "gaps", "fail", read_choice("fail", "report"), "As for `usage`, which is run first."
        ),
    )

    def run(self, stage: Stage) -> Outcome:
        from duolog_pipelines.billing import job

        return job.run(stage)

    def backfill(self, stage: Stage, span: Span) -> Outcome:
        from duolog_pipelines.billing import job

        return job.backfill(stage, span)

    def sections(self, lake: Lake) -> Sequence[Section]:
        from duolog_pipelines.billing.sections import billing_sections

        return billing_sections(lake)


PIPELINE: Pipeline = BillingPipeline()
