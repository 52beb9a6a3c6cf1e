"""Names that the Tab key completes; none if anything goes wrong."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from duolog.config.address import Address


def topics(ctx: typer.Context, incomplete: str) -> list[str]:
    from duolog.cli.known_names import ask, topic_names

    address = _kafka(ctx)
    return ask(lambda: topic_names(address))


def groups(ctx: typer.Context, incomplete: str) -> list[str]:
    from duolog.cli.known_names import ask, group_names

    address = _kafka(ctx)
    return ask(lambda: group_names(address))


def queues(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names from the admin API, which knows all queues; from the SQS door if that does not
    answer."""
    from duolog.cli.known_names import ask, queue_names, sqs_queue_names
    from duolog.cli.queues.doors import Doors

    doors = Doors(_config(ctx), sqs=ctx.params.get("sqs"), admin=ctx.params.get("admin"))
    return ask(lambda: queue_names(doors)) or ask(lambda: sqs_queue_names(doors))


def settings(ctx: typer.Context, incomplete: str) -> list[str]:
    """Settings of a node, for `--set`."""
    from duolog.config.node import NODE_SETTINGS

    return [f"{name}=" for name in NODE_SETTINGS]


def topic_settings(ctx: typer.Context, incomplete: str) -> list[str]:
    from duolog.config.topic import TOPIC_SETTINGS

    return [f"{name}=" for name in TOPIC_SETTINGS]


def _kafka(ctx: Any) -> "Address":
    from duolog.cli.given import door_address

    return door_address("kafka", ctx.params.get("kafka"), _config(ctx))


def _config(ctx: Any) -> Path | None:
    file: Path | None = ctx.params.get("config")
    return file
