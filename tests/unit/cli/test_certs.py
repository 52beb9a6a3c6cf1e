"""`duolog cluster certs`: files that nodes can use, kept from others, and made only once."""

import json
from pathlib import Path
from stat import S_IMODE

import pytest

from duolog.adapters.tls_contexts import peer_tls_contexts
from duolog.cli.clusters.certs import NodeHosts, certs, parse_node
from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format

Capture = pytest.CaptureFixture[str]


def make(out: Path, *nodes: str, cluster: str = "prod") -> None:
    certs(cluster, out, nodes, 30, Format.json)


def test_each_node_gets_what_it_needs(tmp_path: Path, capsys: Capture) -> None:
    make(tmp_path / "new", "1=host1,10.0.0.1", "2=host2")
    said = capsys.readouterr()
    rows = json.loads(said.out)
    assert [(row["node"], row["hosts"]) for row in rows] == [
        (1, ["host1", "10.0.0.1"]),
        (2, ["host2"]),
    ]
    for row in rows:
        peer_tls_contexts(Path(row["ca"]), Path(row["certificate"]), Path(row["key"]))
    assert "peer.tls.cert," in said.err
    assert "ca.key" in said.err


def test_keys_are_nobody_elses_to_read(tmp_path: Path) -> None:
    make(tmp_path / "new", "1=a")
    modes = {path.name: S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    assert modes == {"ca.key": 0o600, "ca.pem": 0o644, "node-1.key": 0o600, "node-1.pem": 0o644}


def test_the_authority_is_made_once_and_certificates_are_renewed(tmp_path: Path) -> None:
    make(tmp_path, "1=a", "2=b")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    make(tmp_path, "1=a", "3=c")
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    same = {name for name in before if before[name] == after[name]}
    assert same == {"ca.key", "ca.pem", "node-2.key", "node-2.pem"}
    assert set(after) - set(before) == {"node-3.key", "node-3.pem"}


def refused(out: Path, *nodes: str, cluster: str = "prod") -> Failure:
    with pytest.raises(Failure) as caught:
        make(out, *nodes, cluster=cluster)
    return caught.value


@pytest.mark.parametrize(
    "node", ["", "1", "1=", "=a", "x=a", "1=a,,b", "1=a b", "1=-", "-1=a", "1=https://a"]
)
def test_a_node_that_cannot_be_is_a_usage_error(tmp_path: Path, node: str) -> None:
    failure = refused(tmp_path, node)
    assert failure.code == ExitCode.USAGE
    assert "For example: --node 1=host1,10.0.0.1." in str(failure)
    assert list(tmp_path.iterdir()) == []


def test_a_node_has_a_number_and_hosts() -> None:
    assert parse_node("12=a.example,::1") == NodeHosts(12, ("a.example", "::1"))


def test_a_node_is_given_once(tmp_path: Path) -> None:
    assert refused(tmp_path, "1=a", "01=b").code == ExitCode.USAGE


def test_a_cluster_has_a_name_that_fits_into_a_certificate(tmp_path: Path) -> None:
    assert refused(tmp_path, "1=a", cluster="a/b").code == ExitCode.USAGE


def test_the_authority_of_another_cluster_is_not_used(tmp_path: Path) -> None:
    make(tmp_path, "1=a")
    assert "cluster 'prod'" in str(refused(tmp_path, "1=a", cluster="test"))


def test_an_authority_without_its_key_is_not_replaced(tmp_path: Path) -> None:
    make(tmp_path, "1=a")
    (tmp_path / "ca.key").unlink()
    assert "ca.key is missing" in str(refused(tmp_path, "1=a"))
    assert (tmp_path / "ca.pem").exists()


def test_a_damaged_authority_is_named(tmp_path: Path) -> None:
    make(tmp_path, "1=a")
    (tmp_path / "ca.pem").write_text("nonsense")
    assert "cannot be used" in str(refused(tmp_path, "1=a"))


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    failure = refused(tmp_path / "file" / "below", "1=a")
    assert failure.code == ExitCode.FAILED
    assert "file" in str(failure)
