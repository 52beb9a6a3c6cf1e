"""What an action knows about the node and about the request it serves."""

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
"""Takes the result of an action that may have had to wait; called once."""

Abandon = Callable[[], None]
"""To be called when the client goes before it is answered."""


@dataclass(frozen=True, slots=True)
class Context:
    queues: Queues
    urls: QueueUrls
    arns: Arns
    account_id: str
    host: bytes
    """The name by which the client knows this node, as in its Host header."""
    sender_id: str
    """Who signed the request; empty when nobody had to, and then it is the account's own."""
    is_plain_ascii: bool
    """Whether all text of the request is ASCII, and certainly without control characters."""
    usage: QueueUsage

    def queue(self, url: str) -> Queue | RoutedQueue:
        """QueueDoesNotExist when there is none."""
        return self.queues.get(self.urls.known.get(url) or self.urls.name_in(url))

    def queue_name(self, url: str) -> str:
        """The name of a queue that exists."""
        name = self.urls.name_in(url)
        self.queues.get(name)
        return name

    def url_of(self, name: str) -> str:
        return self.urls.of(self.host.decode("latin-1"), name)
