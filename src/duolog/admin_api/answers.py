"""The shapes of the admin API's answers."""

from typing import Any

import msgspec

from duolog.ports.http import Response

_JSON = ((b"Content-Type", b"application/json"), (b"Cache-Control", b"no-store"))


def json_answer(status: int, content: dict[str, Any]) -> Response:
    return Response(status, _JSON, msgspec.json.encode(content) + b"\n")


def error_answer(status: int, what: str) -> Response:
    return json_answer(status, {"error": what})
