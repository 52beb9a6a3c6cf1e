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
    description = (
        "Makes invoices per tenant and month, and checks them against the nodes' own counts."
    )
    options = declared(
        Option("prices", "", _read_price_list, "Price list, a TOML file."),
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
            "Closed month, `YYYY-MM`, to recompute and compare; nothing else is done then.",
        ),
        Option(
            "reconcile",
            "true",
            read_flag,
            "`true`: compare usage lines with the nodes' own counts.",
        ),
        Option("topic", "__usage", read_text, "Passed to `usage`, which runs first."),
        Option(
            "gaps", "fail", read_choice("fail", "report"), "Passed to `usage`, which runs first."
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
