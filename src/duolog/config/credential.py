"""Access key and its secret, as settings spell them."""

from typing import NamedTuple


class Credential(NamedTuple):
    key: str
    secret: str


def parse_credential(text: str) -> Credential:
    """Parses `KEY:SECRET`; the key has no colon. Raises ValueError, without the text."""
    key, _, secret = text.partition(":")
    if not key or not secret or not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError("an access key is not written as KEY:SECRET")
    return Credential(key, secret)


def is_credential(text: str) -> bool:
    try:
        parse_credential(text)
    except ValueError:
        return False
    return True
