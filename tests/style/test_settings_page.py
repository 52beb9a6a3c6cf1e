"""Every setting is documented, and the page is the one that the declarations make."""

import re

import pytest
from tests.style.sources import PACKAGE, ROOT, name_of

from duolog.config.node import NODE_SETTINGS, TOPIC_PREFIX
from duolog.config.reference import reference_page
from duolog.config.setting import Setting

PAGE = ROOT / "docs" / "settings.md"
DECLARING = ("config/node.py", "config/cluster.py", "config/topic.py")
READING = re.compile(r'settings\.(?:integer|text|flag|address|get)\(\s*"([a-z0-9.]+)"')


def is_read(name: str, text: str) -> bool:
    """By its whole name, or as one of several doors: f"{door}.advertised"."""
    return f'"{name}"' in text or f'}}.{name.partition(".")[2]}"' in text


@pytest.fixture(scope="module")
def readers() -> dict[str, str]:
    """The modules that may read settings, as texts."""
    paths = [path for path in PACKAGE.rglob("*.py") if not str(path).endswith(DECLARING)]
    return {name_of(path): path.read_text(encoding="utf-8") for path in paths}


def test_every_setting_that_is_read_is_declared(readers: dict[str, str]) -> None:
    assert [
        f"{name} reads the setting `{setting}`: declare it in NODE_GROUPS in"
        " src/duolog/config/node.py, or in CLUSTER_SETTINGS in src/duolog/config/cluster.py"
        for name, text in readers.items()
        for setting in READING.findall(text)
        if setting not in NODE_SETTINGS
    ] == []


def test_every_setting_that_is_declared_is_read(readers: dict[str, str]) -> None:
    assert [
        f"nothing in src/duolog reads the setting `{name}`: it does nothing"
        for name in NODE_SETTINGS
        if not name.startswith(TOPIC_PREFIX)
        and not any(is_read(name, text) for text in readers.values())
    ] == []


def test_the_page_is_up_to_date() -> None:
    refresh = "run `.venv/bin/duolog config reference > docs/settings.md`"
    assert PAGE.read_text(encoding="utf-8") == reference_page(), refresh


@pytest.mark.parametrize("setting", NODE_SETTINGS.values(), ids=lambda setting: setting.name)
def test_a_setting_is_documented(setting: Setting) -> None:
    assert f"| `{setting.name}` |" in PAGE.read_text(encoding="utf-8")
    assert setting.doc.endswith(".")
    assert len(setting.doc) > 15
