"""What systemd hears."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from duolog.app.systemd import READY, STOPPING, tell_systemd

WAIT_SECONDS_MAX = 10.0


@contextmanager
def listening(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address.replace("@", "\0", 1))
        listener.settimeout(WAIT_SECONDS_MAX)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        yield listener


@pytest.mark.parametrize("name", ["{tmp}/notify", "@duolog{tmp}"])
def test_a_state_is_told_wherever_systemd_listens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(name.format(tmp=tmp_path), monkeypatch) as listener:
        tell_systemd(READY)
        assert listener.recv(100) == b"READY=1"


def test_nobody_has_to_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    tell_systemd(READY)
    monkeypatch.setenv("NOTIFY_SOCKET", f"{tmp_path}/nobody")
    tell_systemd(STOPPING)
