"""Everything that an action knows about the node and about the request that it serves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queues import Queues
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.model.errors import Refusal
from duolog.sqs_api.arns import Arns
from duolog.sqs_api.queue_urls import QueueUrls
from duolog.sqs_api.usage import QueueUsage

T = TypeVar("T")

Done = Callable[[T | Refusal], None]
"""Callback for the result of an action, which may come later; called once."""

Abandon = Callable[[], None]
"""Called when the client disconnects before it is answered."""


@dataclass(frozen=True, slots=True)
class Context:
    queues: Queues
    urls: QueueUrls
    arns: Arns
    account_id: str
    host: bytes
    """Host header of the request, from which queue URLs in answers are made."""
    sender_id: str
    """Access key that signed the request; empty on a node without credentials, where messages show
    the account's id instead."""
    is_plain_ascii: bool
    """True if all text of the request is known to be ASCII without control characters."""
    usage: QueueUsage

    def queue(self, url: str) -> Queue | RoutedQueue:
        """The queue that a URL names. Raises QueueDoesNotExist."""
        return self.queues.get(self.urls.known.get(url) or self.urls.name_in(url))

    def queue_name(self, url: str) -> str:
        """The name of the queue that a URL names. Raises QueueDoesNotExist."""
        name = self.urls.name_in(url)
        self.queues.get(name)
        return name

    def url_of(self, name: str) -> str:
        return self.urls.of(self.host.decode("latin-1"), name)
