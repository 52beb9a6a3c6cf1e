"""A local cluster keeps its addresses, and refuses what does not fit them."""

from pathlib import Path

import pytest

from duolog.app.data_directory import StartRefused
from duolog.app.local.layout import LAYOUT_NAME, open_layout


def test_the_first_node_has_the_usual_addresses(tmp_path: Path) -> None:
    layout = open_layout(tmp_path, 3, 1, free_ports=False)
    assert layout.nodes[0].kafka == "127.0.0.1:9092"
    assert layout.nodes[0].sqs == "127.0.0.1:9324"
    assert layout.store == "etcd://127.0.0.1:12379"


@pytest.mark.parametrize("free_ports", [False, True])
def test_no_address_is_used_twice(tmp_path: Path, free_ports: bool) -> None:
    layout = open_layout(tmp_path, 9, 5, free_ports=free_ports)
    addresses = [
        address
        for node in layout.nodes
        for address in (node.kafka, node.sqs, node.admin, node.peer)
    ]
    addresses += [address for member in layout.etcd for address in (member.client, member.peer)]
    assert len(set(addresses)) == len(addresses) == 9 * 4 + 5 * 2


def test_free_ports_are_none_that_a_connection_could_be_given(tmp_path: Path) -> None:
    lent = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    layout = open_layout(tmp_path, 9, 5, free_ports=True)
    for node in layout.nodes:
        for address in (node.kafka, node.sqs, node.admin, node.peer):
            assert not int(lent[0]) <= int(address.rpartition(":")[2]) <= int(lent[1])


def test_a_cluster_that_is_started_again_has_the_same_addresses(tmp_path: Path) -> None:
    first = open_layout(tmp_path, 3, 1, free_ports=True)
    assert open_layout(tmp_path, 3, 1, free_ports=False) == first


def test_another_number_of_nodes_is_refused(tmp_path: Path) -> None:
    open_layout(tmp_path, 3, 1, free_ports=True)
    with pytest.raises(StartRefused, match="has 3 nodes"):
        open_layout(tmp_path, 5, 1, free_ports=True)


def test_a_damaged_layout_is_named(tmp_path: Path) -> None:
    (tmp_path / LAYOUT_NAME).write_text("{")
    with pytest.raises(StartRefused, match=LAYOUT_NAME):
        open_layout(tmp_path, 3, 1, free_ports=True)
