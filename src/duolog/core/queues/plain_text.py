"""A quick look at text: whether all of it can certainly be carried by SQS.

Which characters can is decided in model/characters.py; this is for what nearly all text is.
"""

import msgspec

_encode = msgspec.json.Encoder().encode


def is_plainly_carried(text: str) -> bool:
    """True when no character of it is forbidden; False when that has to be looked into.

    JSON escapes every control character, so a text whose JSON has none of these escapes has
    none of those characters. Nothing else that Python has goes through text so fast: it takes
    half the time of looking for the characters themselves.
    """
    if not text.isascii():
        return False
    encoded = _encode(text)
    return b"\\" not in encoded or not (b"\\u" in encoded or b"\\b" in encoded or b"\\f" in encoded)
