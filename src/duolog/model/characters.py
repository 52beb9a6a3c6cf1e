"""Characters that the text of a message may have: those allowed in XML 1.0."""

import re

_CONTROLS = bytes(code for code in range(0x20) if code not in b"\t\n\r")
_NONCHARACTERS = ("\ufffe".encode(), "\uffff".encode())

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def forbidden_character(text: bytes) -> str | None:
    """The first forbidden character in UTF-8 text, or None.

    Surrogates are forbidden, too, but cannot occur in UTF-8.
    """
    # Scans of bytes are several times as fast as the pattern, and in ASCII one is enough.
    if len(text.translate(None, _CONTROLS)) == len(text) and (
        text.isascii() or not (_NONCHARACTERS[0] in text or _NONCHARACTERS[1] in text)
    ):
        return None
    found = _FORBIDDEN.search(text.decode())
    assert found is not None
    return found[0]


def without_forbidden(text: str) -> str:
    """The text with U+FFFD in place of each forbidden character."""
    return text if text.isprintable() else _FORBIDDEN.sub("\ufffd", text)
