"""Table from paths of the admin API to their pages."""

from collections.abc import Callable, Coroutine
from typing import Any

from duolog.admin_api.answers import READING, error_answer, wrong_method
from duolog.admin_api.cluster import PREFIX as CLUSTER
from duolog.admin_api.cluster import ClusterPages
from duolog.admin_api.health import HealthPages
from duolog.admin_api.metrics import MetricsPages
from duolog.admin_api.queues import PREFIX as QUEUES
from duolog.admin_api.queues import QueuePages
from duolog.admin_api.usage import PATH as USAGE
from duolog.admin_api.usage import UsagePages
from duolog.broker.queues.queues import Queues
from duolog.observe.health import Health
from duolog.observe.metrics import Metrics
from duolog.ports.http import Request, Response
from duolog.wire.local_requests import why_not_local


class AdminApi:
    """The handler for the admin HTTP server. Serves health pages before the broker has started."""

    def __init__(self, health: Health, metrics: Metrics) -> None:
        health_pages = HealthPages(health)
        metrics_pages = MetricsPages(metrics)
        self._pages: dict[str, Callable[[Request], Response]] = {
            "/livez": health_pages.alive,
            "/readyz": health_pages.ready,
            "/metrics": metrics_pages.aggregated,
            "/metrics/detailed": metrics_pages.detailed,
        }
        self._queues: QueuePages | None = None
        self._cluster: ClusterPages | None = None

    def attach(self, queues: Queues) -> None:
        """Serve the pages of queues from now on: the queues are open."""
        self._queues = QueuePages(queues)

    def attach_usage(self, pages: UsagePages) -> None:
        """Serve the usage page from now on: the node meters its usage."""
        self._pages[USAGE] = pages.totals

    def attach_cluster(self, pages: ClusterPages) -> None:
        """Serve the pages of the cluster from now on: the node has joined it."""
        self._cluster = pages

    def __call__(self, request: Request) -> Response | Coroutine[Any, Any, Response]:
        page = self._pages.get(request.path)
        if page is not None:
            if request.method not in ("GET", "HEAD"):
                return wrong_method(READING)
            return page(request)
        if _is_below(request.path, QUEUES) or _is_below(request.path, CLUSTER):
            # These pages need no credentials and may show messages, so they are for this machine
            # only.
            served = why_not_local(request.peer, request.headers)
            if served is not None:
                return error_answer(403, f"beside health and metrics, this node serves {served}")
            if self._queues is None:
                return error_answer(503, "the node is starting")
            if _is_below(request.path, QUEUES):
                return self._queues.answer(request)
            if self._cluster is None:
                what = "this node is alone, or has not joined its cluster yet"
                return error_answer(404, what, code="NodeAlone")
            return self._cluster.answer(request)
        known = ", ".join([*self._pages, QUEUES, CLUSTER])
        return error_answer(404, f"there is no such page; try one of {known}")


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix + "/")
