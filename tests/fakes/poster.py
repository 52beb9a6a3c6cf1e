"""An endpoint that queues push to: it answers at once, or when a test says so."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duolog.ports.http import PushFailed


@dataclass
class Posted:
    """One request, as the endpoint gets it."""

    url: str
    headers: dict[str, str]
    text: str
    asked: dict[str, Any]
    """What else the poster was told."""
    answer: asyncio.Future[int]

    @property
    def is_under_way(self) -> bool:
        return not self.answer.done()


class FakePoster:
    def __init__(self) -> None:
        self.status: int | None = 200
        """What is answered at once; with None a request waits for its own answer."""
        self.failure: str | None = None
        """Why there is no answer."""
        self.posted: list[Posted] = []
        self.most_at_once = 0

    async def post(
        self, url: str, headers: Sequence[tuple[bytes, bytes]], body: bytes, **asked: Any
    ) -> int:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        texts = {name.decode(): value.decode() for name, value in headers}
        assert len(texts) == len(headers), "a header is given twice"
        self.posted.append(Posted(url, texts, body.decode(), asked, answer))
        self.most_at_once = max(self.most_at_once, len(self.under_way))
        if self.failure is not None:
            answer.set_exception(PushFailed(self.failure))
        elif self.status is not None:
            answer.set_result(self.status)
        return await answer

    @property
    def under_way(self) -> list[Posted]:
        return [posted for posted in self.posted if posted.is_under_way]

    @property
    def texts(self) -> list[str]:
        return [posted.text for posted in self.posted]
