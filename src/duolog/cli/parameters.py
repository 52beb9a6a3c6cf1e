"""Options and arguments of commands: Typer's, with our own texts in help and in errors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer._click.shell_completion import CompletionItem
from typer.core import TyperArgument, TyperOption

from duolog.cli.values import Accepted, accepted


class _Reading:
    """Converts and checks a parameter's value, in place of Typer's own type."""

    def __init__(self, takes: Accepted) -> None:
        self._takes = takes

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        is_repeated = param.multiple or param.nargs == -1
        if value is None:
            return () if is_repeated else None
        where = error_name(param)
        if is_repeated:
            return tuple(self._one(each, where) for each in value)
        return self._one(value, where)

    def _one(self, value: Any, where: str) -> Any:
        # A default has its type already.
        return self._takes.read(value, where) if type(value) is str else value


class PlainOption(TyperOption):
    def get_runtime_param(self) -> Any:
        return _Reading(_accepted(self))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        return _file(self, incomplete) or super().shell_complete(ctx, incomplete)

    def display_type(self, ctx: Any) -> str:
        """Placeholder of the value in help, for an option without a metavar."""
        choices = _accepted(self).choices
        return f"<{'|'.join(choices)}>" if choices else "N"

    def _get_number_range_help_str(self) -> str | None:
        return None if self.count else _accepted(self).bounds or None


class PlainArgument(TyperArgument):
    def get_runtime_param(self) -> Any:
        return _Reading(_accepted(self))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        return _file(self, incomplete) or super().shell_complete(ctx, incomplete)

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        name = self.display_name_raw if self.required else f"[{self.display_name_raw}]"
        return [name if self.nargs == 1 else f"{name}..."]

    def display_type_rich(self, ctx: Any) -> str | None:
        """None: an argument's help says what it takes."""
        return None

    def _get_number_range_help_str(self) -> str | None:
        return _accepted(self).bounds or None


def plain(parameters: Sequence[Any]) -> list[Any]:
    """Copies of Typer's parameters, as our own classes."""
    return [_plain(each) for each in parameters]


def _plain(parameter: Any) -> Any:
    kind = PlainOption if isinstance(parameter, TyperOption) else PlainArgument
    copied = kind.__new__(kind)
    copied.__dict__.update(vars(parameter))
    return copied


def error_name(parameter: Any) -> str:
    """The parameter as users know it: `--output`, `NAME`."""
    if isinstance(parameter, TyperOption):
        return max(parameter.opts, key=len)
    return str(parameter.display_name_raw)


def _file(parameter: TyperOption | TyperArgument, incomplete: str) -> list[CompletionItem]:
    """Mark that lets a shell complete names of files; none unless the parameter is a path."""
    is_path = _accepted(parameter).kind is Path
    return [CompletionItem(incomplete, type="file")] if is_path else []


def _accepted(parameter: TyperOption | TyperArgument) -> Accepted:
    return accepted(parameter.type_descriptor.annotation, parameter.min, parameter.max)
