"""Text that SQS carries: its allowed characters, and its length in bytes."""

from duolog.core.queues.plain_text import is_plainly_carried
from duolog.model.characters import forbidden_character
from duolog.model.queue_errors import InvalidMessageContents


def check_characters(text: str) -> None:
    if is_plainly_carried(text):
        return
    forbidden = forbidden_character(text.encode())
    if forbidden is not None:
        raise InvalidMessageContents(
            f"Invalid character '#x{ord(forbidden):X}' was found. The set of allowed characters is"
            " #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
        )


def utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
