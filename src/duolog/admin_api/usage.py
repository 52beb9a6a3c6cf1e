"""`/usage`: totals of all usage lines that this node has written, to compare bills with."""

from collections.abc import Callable

from duolog.admin_api.answers import json_answer
from duolog.broker.usage.metering import UsageTold
from duolog.ports.http import Request, Response

PATH = "/usage"


class UsagePages:
    def __init__(self, node_id: int, told: Callable[[], UsageTold]) -> None:
        self._node_id = node_id
        self._told = told

    def totals(self, request: Request) -> Response:
        told = self._told()
        return json_answer(
            200,
            {
                "node": self._node_id,
                "journal": told.journal,
                "sent_sequence": told.sent_sequence,
                "totals": [key._asdict() | counts._asdict() for key, counts in told.totals],
            },
        )
