"""What queues have beyond SQS is documented."""

import pytest
from tests.style.sources import ROOT

from duolog.config.queue_attributes import EXTENSION_PREFIX, QUEUE_ATTRIBUTES

OUR_OWN = [name for name in QUEUE_ATTRIBUTES if name.startswith(EXTENSION_PREFIX)]


@pytest.mark.parametrize("attribute", OUR_OWN)
def test_an_attribute_of_our_own_is_documented(attribute: str) -> None:
    page = (ROOT / "docs" / "queues.md").read_text(encoding="utf-8")
    default = QUEUE_ATTRIBUTES[attribute].default_text
    rows = [line for line in page.splitlines() if line.startswith(f"| `{attribute}` |")]
    assert rows, (
        f"add a row `| `{attribute}` | `{default}` | <what it does> |` to the table of our own"
        " attributes in docs/queues.md"
    )
    assert not default or f"`{default}`" in rows[0], (
        f"docs/queues.md has another default of {attribute} than `{default}`: {rows[0]}"
    )
