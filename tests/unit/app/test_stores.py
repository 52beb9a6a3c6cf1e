"""What an operator is told whose metadata store cannot be used."""

from pathlib import Path

import pytest
from tests.fakes.cluster_nodes import ManualClock

from duolog.app.data_directory import DataDirectory, StartRefused
from duolog.app.stores import open_store
from duolog.config.settings import Settings


@pytest.mark.parametrize("name", ["store.ca", "store.cert", "store.key"])
async def test_a_file_that_is_missing_is_named_and_not_etcd_blamed(
    tmp_path: Path, name: str
) -> None:
    absent = tmp_path / "absent.pem"
    settings = Settings.load(
        {"cluster.name": "testing", "store.address": "etcds://127.0.0.1:1", name: str(absent)}
    )
    with pytest.raises(StartRefused) as refused:
        await open_store(
            settings, DataDirectory(tmp_path), ManualClock(), lambda error: None, lambda: False
        )
    assert str(refused.value) == (
        f"The file {absent} ({name}) cannot be read: No such file or directory. Check the path."
    )
