"""`/livez` and `/readyz`, as orchestrators and load balancers poll them."""

from duolog.admin_api.answers import json_answer
from duolog.observe.health import Health
from duolog.ports.http import Request, Response


class HealthPages:
    def __init__(self, health: Health) -> None:
        self._health = health

    def alive(self, request: Request) -> Response:
        """Always 200: only a dead process needs a restart, a node that waits does not."""
        return json_answer(200, {"status": "alive"})

    def ready(self, request: Request) -> Response:
        notes = {"notes": self._health.notes} if self._health.notes else {}
        if self._health.ready:
            return json_answer(200, {"status": "ready", "reasons": {}, **notes})
        return json_answer(503, {"status": "not ready", "reasons": self._health.reasons, **notes})
