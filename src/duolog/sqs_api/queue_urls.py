"""Queue URLs: `http://<host that the client used>/<account>/<queue>`.

Requests may also give the path alone, or the bare name. The host is not looked at: a client
may reach the node by any number of names.
"""

import re

from duolog.model.queue_errors import QueueDoesNotExist

URLS_REMEMBERED_MAX = 10_000
"""URLs whose queue is known without parsing. Past it all are forgotten, and found again."""

URL_CHARS_MAX = 2_048
"""Longest URL that is looked at. What is remembered is bounded with it."""

_ANY_URL = r"(?:(?:https?://[^/?#]+)?/{account}/)?([A-Za-z0-9_.-]{{1,80}})/?\Z"


class QueueUrls:
    def __init__(self, account_id: str) -> None:
        self._account_id = account_id
        self._match = re.compile(_ANY_URL.format(account=re.escape(account_id)), re.I | re.A).match
        self.known: dict[str, str] = {}
        """Names by URL, of those that were asked for lately."""

    def of(self, host: str, name: str) -> str:
        return f"http://{host}/{self._account_id}/{name}"

    def name_in(self, url: str) -> str:
        """The queue's name. QueueDoesNotExist when no queue of ours has such a URL."""
        name = self.known.get(url)
        return self._parse(url) if name is None else name

    def _parse(self, url: str) -> str:
        match = self._match(url) if len(url) <= URL_CHARS_MAX else None
        if match is None:
            raise QueueDoesNotExist("The specified queue does not exist.")
        if len(self.known) >= URLS_REMEMBERED_MAX:
            self.known.clear()
        name = self.known[url] = match[1]
        return name
