"""Queue URLs: `http://<host that the client used>/<account>/<queue>`.

Requests may also give the path alone, or the bare name. The host is ignored, because a client may
reach the node under any name.
"""

import re

from duolog.model.queue_errors import QueueDoesNotExist

URLS_REMEMBERED_MAX = 10_000
"""Size of the cache from URL to queue name; when full, it is emptied."""

URL_CHARS_MAX = 2_048
"""Longest URL accepted, which also bounds the cache's memory."""

_ANY_URL = r"(?:(?:https?://[^/?#]+)?/{account}/)?([A-Za-z0-9_.-]{{1,80}})/?\Z"


class QueueUrls:
    def __init__(self, account_id: str) -> None:
        self._account_id = account_id
        self._match = re.compile(_ANY_URL.format(account=re.escape(account_id)), re.I | re.A).match
        self.known: dict[str, str] = {}
        """Cache of queue names by URL."""

    def of(self, host: str, name: str) -> str:
        return f"http://{host}/{self._account_id}/{name}"

    def name_in(self, url: str) -> str:
        """The name of the queue that a URL names. Raises QueueDoesNotExist if it is no URL of
        ours."""
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
