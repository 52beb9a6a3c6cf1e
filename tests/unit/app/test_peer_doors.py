"""What an operator is told whose certificates cannot be used."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.certificates import ClusterCertificates
from tests.harness.privileges import unprivileged

from duolog.app.data_directory import StartRefused
from duolog.app.peer_doors import peer_network
from duolog.config.settings import Settings

NEW_CERTIFICATES = "duolog cluster certs"


@pytest.fixture
def flags(tmp_path: Path) -> dict[str, str]:
    certificates = ClusterCertificates(tmp_path)
    certificate, key = certificates.files(1)
    return {
        "cluster.name": "testing",
        "peer.tls.ca": str(certificates.ca),
        "peer.tls.cert": str(certificate),
        "peer.tls.key": str(key),
    }


def test_certificates_that_fit_are_used(flags: dict[str, str]) -> None:
    assert peer_network(Settings.load(flags)) is not None


@pytest.mark.parametrize("name", ["peer.tls.ca", "peer.tls.cert", "peer.tls.key"])
def test_a_file_that_is_missing_is_named_and_its_path_doubted(
    flags: dict[str, str], name: str
) -> None:
    flags[name] += ".absent"
    with pytest.raises(StartRefused) as refused:
        peer_network(Settings.load(flags))
    assert str(refused.value) == (
        f"The file {flags[name]} ({name}) cannot be read: No such file or directory."
        " Check the path."
    )


def test_a_key_that_may_not_be_read_is_named_and_its_permissions_doubted(
    flags: dict[str, str],
) -> None:
    Path(flags["peer.tls.key"]).chmod(0o000)
    program = (
        "from duolog.app.peer_doors import peer_network\n"
        "from duolog.config.settings import Settings\n"
        f"peer_network(Settings.load({flags!r}))\n"
    )
    command = unprivileged([sys.executable, "-c", program])
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.stderr.endswith(
        f"The file {flags['peer.tls.key']} (peer.tls.key) cannot be read: Permission denied."
        " Let the user who runs this read it, and enter the directories above it.\n"
    )
    assert NEW_CERTIFICATES not in done.stderr


def test_certificates_that_do_not_fit_are_to_be_made_anew(flags: dict[str, str]) -> None:
    Path(flags["peer.tls.cert"]).write_text("no certificate")
    with pytest.raises(StartRefused, match=NEW_CERTIFICATES):
        peer_network(Settings.load(flags))
