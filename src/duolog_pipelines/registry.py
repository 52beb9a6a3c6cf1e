"""All pipelines by name, each the PIPELINE object of a module that is loaded when needed."""

from importlib import import_module
from typing import cast

from duolog.cli.values import likely
from duolog_pipelines.errors import Missing
from duolog_pipelines.pipeline import Pipeline

MODULES = {
    "usage": "duolog_pipelines.usage.pipeline",
    "billing": "duolog_pipelines.billing.pipeline",
    "audit": "duolog_pipelines.audit.pipeline",
    "archive": "duolog_pipelines.archive.pipeline",
    "replay": "duolog_pipelines.archive.replay",
    "load": "duolog_pipelines.load.pipeline",
}
"""Modules by pipeline name, in a sensible order for running all of them."""


def pipeline(name: str) -> Pipeline:
    """The pipeline of that name. Raises Missing."""
    if name not in MODULES:
        meant = likely(name, MODULES)
        advice = f"Did you mean '{meant}'? " if meant else ""
        raise Missing(
            f"There is no pipeline '{name}'. {advice}Run `duolog pipeline ls` to see which there"
            " are."
        )
    return cast(Pipeline, import_module(MODULES[name]).PIPELINE)


def all_pipelines() -> list[Pipeline]:
    return [pipeline(name) for name in MODULES]
