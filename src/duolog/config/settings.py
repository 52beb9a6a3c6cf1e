"""Settings of one node: flags override the environment, which overrides the file.

A setting's name is its path in the TOML file joined by dots, and its environment variable is that
name in capitals: `kafka.listen` is `[kafka] listen = …` and `DUOLOG_KAFKA_LISTEN`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from duolog.config.address import Address
from duolog.config.credential import parse_credential
from duolog.config.node import NODE_SETTINGS, TOPIC_PREFIX
from duolog.config.setting import Setting, Value, nearest
from duolog.config.topic import parse_topic_config
from duolog.config.unreadable import unreadable
from duolog.model.errors import InvalidConfig

Source = Literal["flag", "environment", "file", "default"]

ENVIRONMENT_PREFIX = "DUOLOG_"

SECRET = "(secret)"
"""Shown in place of a value that nobody should see."""

# Kubernetes sets these in every pod beside a Service called "duolog"; they are not ours.
_FOREIGN_VARIABLES = ("DUOLOG_SERVICE_", "DUOLOG_PORT")

_NOTHING: Mapping[str, str] = MappingProxyType({})


class SettingError(Exception):
    """Invalid setting, in one sentence: which one, where it was given, and what was probably
    meant."""


class FileUnusable(SettingError):
    """Unusable settings file, rather than a setting in it; the text also says what to do."""


@dataclass(frozen=True, slots=True)
class _Given:
    value: Value
    source: Source


class Settings:
    """Value and source of every declared setting. Immutable."""

    def __init__(self, given: Mapping[str, _Given]) -> None:
        self._given = dict(given)
        self._check()

    @classmethod
    def load(
        cls,
        flags: Mapping[str, str] = _NOTHING,
        environ: Mapping[str, str] = _NOTHING,
        file: str | Path | None = None,
    ) -> "Settings":
        """Loads settings; `flags` is by setting name, `environ` by variable. Raises
        SettingError."""
        given: dict[str, _Given] = {}
        if file is not None:
            for name, value in _flatten(_read(file)):
                given[name] = _Given(_from_toml(name, value, f"file {file}"), "file")
        for variable, text in _own_variables(environ):
            name = _name_of(variable)
            where = f"environment variable {variable}"
            given[name] = _Given(_parse(name, text, where), "environment")
        for name, text in flags.items():
            given[name] = _Given(_parse(name, text, "command line"), "flag")
        return cls(given)

    @property
    def declared(self) -> Mapping[str, Setting]:
        return NODE_SETTINGS

    def get(self, name: str) -> Any:
        """The value in its kind's type: an int, a bool, a str, a tuple, an Address or None."""
        given = self._given.get(name)
        return NODE_SETTINGS[name].default if given is None else given.value

    def source(self, name: str) -> Source:
        given = self._given.get(name)
        return "default" if given is None else given.source

    def text(self, name: str) -> str:
        """The value as one would write it."""
        return NODE_SETTINGS[name].to_text(self.get(name))

    def shown(self, name: str) -> str:
        """The value for people to see: of a secret, only that there is one."""
        text = self.text(name)
        return SECRET if text and NODE_SETTINGS[name].secret else text

    def integer(self, name: str) -> int:
        value = self.get(name)
        assert isinstance(value, int), name
        return value

    def flag(self, name: str) -> bool:
        value = self.get(name)
        assert isinstance(value, bool), name
        return value

    def address(self, name: str) -> Address | None:
        value = self.get(name)
        assert value is None or isinstance(value, Address), name
        return value

    def topic_defaults(self) -> dict[str, str]:
        """Value of every topic setting, by Kafka's name, for topics that do not set it."""
        return {
            name.removeprefix(TOPIC_PREFIX): self.text(name)
            for name in NODE_SETTINGS
            if name.startswith(TOPIC_PREFIX)
        }

    def _check(self) -> None:
        """Refuses settings that are each valid but contradict one another."""
        listen, advertised = self.address("kafka.listen"), self.address("kafka.advertised")
        assert listen is not None
        if (advertised or listen).is_wildcard:
            raise SettingError(
                f"kafka.advertised must be an address that clients can connect to, because"
                f" {advertised or listen} is none."
            )
        shortest, longest = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
        if self.integer(shortest) > self.integer(longest):
            raise SettingError(
                f"{shortest} is {self.text(shortest)} but must not exceed {longest},"
                f" which is {self.text(longest)}."
            )
        keys = [parse_credential(pair).key for pair in self.get("sqs.credentials")]
        if len(set(keys)) < len(keys):
            raise SettingError("sqs.credentials gives one key two secrets.")
        try:
            parse_topic_config(self.topic_defaults())
        except InvalidConfig as problem:
            raise SettingError(f"The defaults of topics do not fit: {problem}.") from None


def environment_variable(name: str) -> str:
    return ENVIRONMENT_PREFIX + name.upper().replace(".", "_")


_NAMES_BY_VARIABLE = {environment_variable(name): name for name in NODE_SETTINGS}


def _own_variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for variable, text in environ.items():
        if variable.startswith(ENVIRONMENT_PREFIX) and not variable.startswith(_FOREIGN_VARIABLES):
            yield variable, text


def _name_of(variable: str) -> str:
    name = _NAMES_BY_VARIABLE.get(variable)
    if name is None:
        meant = nearest(variable.removeprefix(ENVIRONMENT_PREFIX).lower(), _lower_variables())
        raise SettingError(
            f"The environment variable {variable} is not a setting"
            + (f"; did you mean {ENVIRONMENT_PREFIX}{meant.upper()}?" if meant else ".")
        )
    return name


def _lower_variables() -> list[str]:
    return [name.replace(".", "_") for name in NODE_SETTINGS]


def _read(file: str | Path) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as problem:
        raise FileUnusable(unreadable(file, problem)) from None
    except ValueError as problem:
        raise FileUnusable(
            f"The file {file} is not valid TOML: {problem}. Correct it there."
        ) from None


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _declared(name: str, where: str) -> Setting:
    setting = NODE_SETTINGS.get(name)
    if setting is None:
        meant = nearest(name, NODE_SETTINGS)
        raise SettingError(
            f"There is no setting '{name}' ({where})"
            + (f"; did you mean {meant}?" if meant else ".")
        )
    return setting


def _parse(name: str, text: str, where: str) -> Value:
    try:
        return _declared(name, where).parse(text)
    except ValueError as problem:
        raise SettingError(f"{name} ({where}) {problem}.") from None


def _from_toml(name: str, value: object, where: str) -> Value:
    try:
        return _declared(name, where).from_toml(value)
    except ValueError as problem:
        raise SettingError(f"{name} ({where}) {problem}.") from None
