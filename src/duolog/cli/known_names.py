"""Names that a node knows: for suggestions after a mistyped one, and for completion.

Clients are imported only when names are looked up, which is seldom.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from duolog.cli.values import likely
from duolog.client.errors import ClientError, Endpoint, Refused

if TYPE_CHECKING:
    from duolog.cli.queues.doors import Doors

SECONDS_MAX = 2.0
"""Longest wait for the names of a suggestion."""

Known = Mapping[str, Callable[[], Awaitable[list[str]]]]
"""By kind, a function that looks up all names of that kind."""

NOTHING_KNOWN: Known = MappingProxyType({})

_NAMED = re.compile(r"(topic|group|queue) '(.*)'", re.DOTALL)
_ABSENT = frozenset(("UNKNOWN_TOPIC_OR_PARTITION", "GROUP_ID_NOT_FOUND", "QueueDoesNotExist"))


def known_to(kafka: Endpoint) -> Known:
    return {"topic": lambda: topic_names(kafka), "group": lambda: group_names(kafka)}


def known_behind(doors: "Doors") -> Known:
    """Names of queues, from the admin API."""
    return {"queue": lambda: queue_names(doors)}


def known_to_sqs(doors: "Doors") -> Known:
    """Names of queues, from the SQS door, for commands that need no other one."""
    return {"queue": lambda: sqs_queue_names(doors)}


async def topic_names(kafka: Endpoint) -> list[str]:
    from duolog.client.cluster import Cluster

    async with Cluster(kafka) as cluster:
        topics = (await cluster.metadata()).topics.values()
    return sorted(each.name for each in topics if not each.is_internal)


async def group_names(kafka: Endpoint) -> list[str]:
    from duolog.client.cluster import Cluster
    from duolog.client.groups import list_groups

    async with Cluster(kafka) as cluster:
        return [each.id for each in await list_groups(cluster)]


async def queue_names(doors: "Doors") -> list[str]:
    async with doors.operator_client() as client:
        return [each.name for each in await client.queues()]


async def sqs_queue_names(doors: "Doors") -> list[str]:
    from duolog.wire.sqs.messages import ListQueuesRequest

    async with doors.queue_client() as client:
        listed = await client.call(ListQueuesRequest(), "the queues")
    return [url.rpartition("/")[2] for url in listed.queue_urls or ()]


def meant_by(refusal: Refused, known: Known) -> str | None:
    """The existing name that was probably meant, if the error is about an unknown one."""
    named = _NAMED.fullmatch(refusal.subject)
    if named is None or named[1] not in known or refusal.name not in _ABSENT:
        return None
    return likely(named[2], ask(known[named[1]]))


def ask(names: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """Look up names; none if the node does not answer in time."""

    async def within_time() -> list[str]:
        async with asyncio.timeout(SECONDS_MAX):
            return await names()

    try:
        return asyncio.run(within_time())
    except (ClientError, TimeoutError):
        return []
