"""Every module in C is known, so that nobody works without one unknowingly."""

import tomllib
from pathlib import Path

from duolog.observe.c_modules import NODE_MODULES, SPARK_MODULES, missing

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_every_module_that_is_built_is_asked_for() -> None:
    declared = tomllib.loads(PROJECT.read_text())["tool"]["setuptools"]["ext-modules"]
    assert {each["name"] for each in declared} == {*NODE_MODULES, *SPARK_MODULES}, (
        "add the module to NODE_MODULES or SPARK_MODULES in duolog/observe/c_modules.py"
    )


def test_what_is_not_there_is_missing() -> None:
    names = ("duolog.model._no_such", "no_such_package._no_such", "duolog.observe.logs")
    assert missing(names) == list(names[:2])
