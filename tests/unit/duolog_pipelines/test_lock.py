"""Two runs of one pipeline would take the same records."""

from pathlib import Path

import pytest

from duolog_pipelines.errors import NotAllowed
from duolog_pipelines.lock import only_run


def test_a_second_run_is_refused_while_the_first_one_lasts(tmp_path: Path) -> None:
    with (
        only_run(tmp_path, "usage"),
        pytest.raises(NotAllowed, match=r"runs already, as process \d+"),
        only_run(tmp_path, "usage"),
    ):
        pass
    with only_run(tmp_path, "usage"), only_run(tmp_path, "billing"):
        pass
