"""Hostile group bytes: a member's metadata, and records of the offsets topic.

Metadata comes from clients and may be anything; a record may have been damaged or written by
a newer broker, and is then unreadable, never a crash.
"""

import sys
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["duolog"]):
    from duolog.core.groups.formats import UnreadableRecord, decode
    from duolog.core.groups.subscription import subscribed_topics


def test_one_input(data: bytes) -> None:
    choices = atheris.FuzzedDataProvider(data)
    key = choices.ConsumeBytes(choices.ConsumeIntInRange(0, 64))
    value = choices.ConsumeBytes(4_096)
    subscribed_topics(value)
    for each in (value, None):
        with suppress(UnreadableRecord):
            decode(key, each)
    # Keys that are right, so that the value is what decides.
    for right in (b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\2\0\1g"):
        with suppress(UnreadableRecord):
            decode(right, value)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
