"""Every setting is documented, and the page is the one that the declarations make."""

import pytest
from tests.style.sources import ROOT

from duolog.config.node import NODE_SETTINGS
from duolog.config.reference import reference_page
from duolog.config.setting import Setting

PAGE = ROOT / "docs" / "settings.md"


def test_the_page_is_up_to_date() -> None:
    refresh = "run `.venv/bin/duolog config reference > docs/settings.md`"
    assert PAGE.read_text(encoding="utf-8") == reference_page(), refresh


@pytest.mark.parametrize("setting", NODE_SETTINGS.values(), ids=lambda setting: setting.name)
def test_a_setting_is_documented(setting: Setting) -> None:
    assert f"| `{setting.name}` |" in PAGE.read_text(encoding="utf-8")
    assert setting.doc.endswith(".")
    assert len(setting.doc) > 15
