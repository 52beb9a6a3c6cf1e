"""Lists answered in pages, with tokens that say where the next page begins."""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import NamedTuple

from duolog.model.queue_errors import InvalidParameterValue
from duolog.sqs_api.validation.bounds import LISTED_QUEUES_MAX, check_listed_queues


class Page(NamedTuple):
    names: list[str]
    next_token: str | None


def page_of(
    listed: Callable[[str, int], list[str]], max_results: int | None, next_token: str | None
) -> Page:
    """One page of the sorted names that `listed(after, limit)` gives.

    A next token is given only if the request sets `max_results`, as on AWS.
    """
    if max_results is not None:
        check_listed_queues(max_results)
    after = "" if next_token is None else _after(next_token)
    if max_results is None:
        return Page(listed(after, LISTED_QUEUES_MAX), None)
    names = listed(after, max_results + 1)
    if len(names) <= max_results:
        return Page(names, None)
    del names[max_results:]
    return Page(names, urlsafe_b64encode(names[-1].encode()).decode())


def _after(token: str) -> str:
    try:
        after = b64decode(token.encode("ascii"), b"-_", validate=True).decode()
    except ValueError:
        after = ""
    if not after:
        raise InvalidParameterValue("Invalid or expired next token.")
    return after
