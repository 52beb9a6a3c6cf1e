"""Responses of the admin API: JSON content, JSON errors."""

from typing import Any

import msgspec

from duolog.ports.http import Response

READING = "GET, HEAD"
"""Methods allowed on a read-only page."""

_JSON = ((b"Content-Type", b"application/json"), (b"Cache-Control", b"no-store"))


def json_answer(
    status: int, content: dict[str, Any], *more_headers: tuple[bytes, bytes]
) -> Response:
    return Response(status, (*_JSON, *more_headers), msgspec.json.encode(content) + b"\n")


def error_answer(
    status: int, what: str, *more_headers: tuple[bytes, bytes], code: str = ""
) -> Response:
    """`code` is for programs, where the status alone is ambiguous."""
    content = {"error": what, "code": code} if code else {"error": what}
    return json_answer(status, content, *more_headers)


def wrong_method(allowed: str) -> Response:
    """`allowed`: the allowed methods, as the Allow header lists them."""
    return error_answer(405, f"this path allows {allowed} only", (b"Allow", allowed.encode()))
