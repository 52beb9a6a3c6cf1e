"""Shorthands for declaring a setting of a node."""

from typing import Any

from duolog.config.setting import Kind, Setting, Value


def setting(name: str, kind: Kind, default: Value, doc: str, **more: Any) -> Setting:
    return Setting(name=name, kind=kind, default=default, doc=doc, **more)


def in_bytes(name: str, default: int, doc: str, *, least: int = 1) -> Setting:
    return setting(name, "long", default, doc, unit="bytes", least=least)


def in_ms(name: str, default: int, doc: str, *, least: int = 1) -> Setting:
    return setting(name, "int", default, doc, unit="ms", least=least)


def count(name: str, default: int, doc: str, *, least: int = 1, most: int | None = None) -> Setting:
    return setting(name, "int", default, doc, least=least, most=most)


def in_seconds(name: str, default: int, doc: str) -> Setting:
    return setting(name, "int", default, doc, unit="seconds", least=0)
