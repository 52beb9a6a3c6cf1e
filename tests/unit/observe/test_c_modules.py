"""Every module in C is known, so that nobody works without one unknowingly."""

import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from duolog.observe.c_modules import NODE_MODULES, SPARK_MODULES, missing

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_every_module_that_is_built_is_asked_for() -> None:
    declared = tomllib.loads(PROJECT.read_text())["tool"]["setuptools"]["ext-modules"]
    assert {each["name"] for each in declared} == {*NODE_MODULES, *SPARK_MODULES}, (
        "add the module to NODE_MODULES or SPARK_MODULES in duolog/observe/c_modules.py"
    )


def test_a_module_is_built_where_its_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = tmp_path / "wired" / "codec"
    codec.mkdir(parents=True)
    (codec / "__init__.py").write_text("import a_package_that_is_not_installed")
    (tmp_path / "wired" / "__init__.py").touch()
    (codec / f"_fast{EXTENSION_SUFFIXES[0]}").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    asked = ("wired.codec._fast", "wired.codec._slow", "no_such_package._fast")
    assert missing(asked) == ["wired.codec._slow", "no_such_package._fast"]
