"""Nouns whose commands are loaded only when used: help must not wait for all of them."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import typer

from duolog.cli.command_line import Noun


class Loaded(NamedTuple):
    """Help of a noun, and the module that has its commands."""

    help: str
    module: str


NOUNS = {
    "topic": Loaded("Topics and the records in them.", "duolog.cli.topics.commands"),
    "group": Loaded("Consumer groups and how far they came.", "duolog.cli.groups.commands"),
    "queue": Loaded("Queues and the messages in them.", "duolog.cli.queues.commands"),
    "cluster": Loaded(
        "Several nodes as one, on this machine or on many.", "duolog.cli.clusters.commands"
    ),
}
BESIDE = {
    "pipeline": Loaded("Usage, bills and more, computed by Spark.", "duolog_pipelines.commands"),
    "demo": Loaded("Examples that run by themselves.", "duolog_pipelines.demo.commands"),
}
"""Nouns of packages that may be missing; only their names are known here."""


class LazyNoun(Noun):
    """A noun that loads its commands when somebody looks for one."""

    def __init__(self, name: str, loaded: Loaded) -> None:
        super().__init__(name=name, help=loaded.help, no_args_is_help=True, rich_markup_mode=None)
        self._module = loaded.module
        self._found: Noun | None = None

    def list_commands(self, ctx: Any) -> list[str]:
        return self._loaded().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._loaded().get_command(ctx, cmd_name)

    def _loaded(self) -> Noun:
        if self._found is None:
            loaded = typer.main.get_command(import_module(self._module).app)
            assert isinstance(loaded, Noun)
            self._found = loaded
        return self._found


class WithNouns(Noun):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        there = {name: loaded for name, loaded in BESIDE.items() if _is_there(loaded.module)}
        for name, loaded in (NOUNS | there).items():
            self.commands[name] = LazyNoun(name, loaded)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
