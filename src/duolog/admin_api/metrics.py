"""`/metrics`, of constant size, and `/metrics/detailed` for one topic, group or queue."""

from urllib.parse import parse_qsl

from duolog.admin_api.answers import error_answer
from duolog.observe.exposition import CONTENT_TYPE, Exposition, render_samples
from duolog.observe.metrics import Metrics
from duolog.ports.http import Request, Response

_HEADERS = ((b"Content-Type", CONTENT_TYPE.encode()), (b"Cache-Control", b"no-store"))


class MetricsPages:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._exposition = Exposition(metrics)

    def aggregated(self, request: Request) -> Response:
        return Response(200, _HEADERS, self._exposition.render())

    def detailed(self, request: Request) -> Response:
        asked = dict(parse_qsl(request.query))
        for dimension, samples_of in self._metrics.details.items():
            if dimension in asked and len(asked) == 1:
                samples = samples_of(asked[dimension])
                if samples is None:
                    return error_answer(404, f"there is no {dimension} '{asked[dimension]}'")
                return Response(200, _HEADERS, render_samples(samples))
        dimensions = " or ".join(f"?{dimension}=…" for dimension in self._metrics.details)
        return error_answer(400, f"ask for one of {dimensions or 'nothing: there are no details'}")
