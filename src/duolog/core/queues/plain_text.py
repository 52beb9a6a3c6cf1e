"""Fast check that SQS can certainly carry all of a text, as it can nearly always.

model/characters.py decides about each character.
"""

import msgspec

_encode = msgspec.json.Encoder().encode


def is_plainly_carried(text: str) -> bool:
    """True if no character is forbidden; False if model/characters.py has to decide.

    JSON escapes every control character, so a text whose JSON has none of these escapes has none of
    those characters. Nothing else in Python goes through text so fast: it takes half the time of
    searching for the characters themselves.
    """
    if not text.isascii():
        return False
    encoded = _encode(text)
    return b"\\" not in encoded or not (b"\\u" in encoded or b"\\b" in encoded or b"\\f" in encoded)
