"""Limits of a queue's tags, as on AWS."""

from collections.abc import Mapping

from duolog.model.queue_errors import InvalidParameterValue, OverLimit

TAGS_MAX = 50
TAG_KEY_CHARS_MAX = 128
TAG_VALUE_CHARS_MAX = 256


def check_tags(tags: Mapping[str, str]) -> None:
    """Refuse a set of tags that exceeds the limits of a queue."""
    if len(tags) > TAGS_MAX:
        raise OverLimit(f"Too many tags added for queue. A queue has at most {TAGS_MAX} tags.")
    for key, value in tags.items():
        if not 1 <= len(key) <= TAG_KEY_CHARS_MAX or key.lower().startswith("aws:"):
            raise InvalidParameterValue(
                f"Tag keys must have 1 to {TAG_KEY_CHARS_MAX} characters,"
                " and must not begin with aws:."
            )
        if len(value) > TAG_VALUE_CHARS_MAX:
            raise InvalidParameterValue(
                f"Tag values must be between 0 and {TAG_VALUE_CHARS_MAX} characters in length."
            )
