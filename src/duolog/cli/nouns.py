"""Commands that are loaded when they are asked for: help must not wait for all of them."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

NOUNS = {
    "topic": "Topics and the records in them.",
    "group": "Consumer groups and how far they came.",
    "queue": "Queues and the messages in them.",
    "cluster": "Several nodes as one, on this machine or on many.",
}
"""The package of each is its plural."""


class Noun(TyperGroup):
    """Knows its commands only once somebody looks for one."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, help=NOUNS[name], no_args_is_help=True, rich_markup_mode=None)

    def list_commands(self, ctx: Any) -> list[str]:
        return self._loaded().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._loaded().get_command(ctx, cmd_name)

    def _loaded(self) -> TyperGroup:
        loaded = typer.main.get_command(import_module(f"duolog.cli.{self.name}s.commands").app)
        assert isinstance(loaded, TyperGroup)
        return loaded


class WithNouns(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name in NOUNS:
            self.commands[name] = Noun(name)
