"""Objects come to lie on huge pages, and memory goes back when they are gone."""

import subprocess
import sys
from pathlib import Path

import pytest

_ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_COMMON = """
import re, sys
from pathlib import Path
{before}
from duolog.adapters.memory import use_huge_pages

def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/smaps_rollup").read_text())[1])

earlier = [str(number) for number in range(200_000)]
use_huge_pages()
held = [(number, str(number)) for number in range(1_000_000)]
most, huge = kilobytes("Rss"), kilobytes("AnonHugePages")
assert all(text == str(number) for number, text in held[::1_000])
del held, earlier
again = [(number, str(number)) for number in range(10_000)]
print(huge, most, kilobytes("Rss"))
"""


def measured(before: str = "") -> list[int]:
    """In kilobytes: on huge pages, and resident, with many objects and without."""
    command = [sys.executable, "-c", _COMMON.format(before=before)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return list(map(int, ran.stdout.split()))


def test_objects_lie_on_huge_pages_and_their_memory_comes_back() -> None:
    pytest.importorskip("duolog.adapters._arenas")
    if not _ENABLED.exists() or "[never]" in _ENABLED.read_text():
        pytest.skip("the system has no huge pages to give")
    huge, most, left = measured()
    assert huge > most / 4
    assert left < most / 2


def test_without_a_compiler_objects_lie_where_python_puts_them() -> None:
    _, most, left = measured('sys.modules["duolog.adapters._arenas"] = None')
    assert left < most / 2
