"""Which path of the admin API is answered by which page."""

from collections.abc import Callable

from duolog.admin_api.answers import error_answer
from duolog.admin_api.health import HealthPages
from duolog.admin_api.metrics import MetricsPages
from duolog.observe.health import Health
from duolog.observe.metrics import Metrics
from duolog.ports.http import Request, Response

_METHODS = ("GET", "HEAD")
_ALLOW = (b"Allow", b"GET, HEAD")


def admin_handler(health: Health, metrics: Metrics) -> Callable[[Request], Response]:
    """The handler to give to an HTTP server."""
    health_pages = HealthPages(health)
    metrics_pages = MetricsPages(metrics)
    pages = {
        "/livez": health_pages.alive,
        "/readyz": health_pages.ready,
        "/metrics": metrics_pages.aggregated,
        "/metrics/detailed": metrics_pages.detailed,
    }

    def handle(request: Request) -> Response:
        page = pages.get(request.path)
        if page is None:
            return error_answer(404, f"there is nothing here; try one of {', '.join(pages)}")
        if request.method not in _METHODS:
            refused = error_answer(405, "this can only be read")
            return Response(refused.status, (*refused.headers, _ALLOW), refused.body)
        return page(request)

    return handle
