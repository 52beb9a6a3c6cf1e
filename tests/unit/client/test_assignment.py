"""What a member was assigned, from bytes that anybody may have written."""

from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from hypothesis import given
from hypothesis import strategies as st

from duolog.client.assignment import assigned_partitions


def test_an_assignment_is_read_as_another_client_wrote_it() -> None:
    assignment = ConsumerProtocolMemberAssignment(0, [("orders", [0, 2]), ("bills", [])], b"more")
    assert assigned_partitions(assignment.encode()) == {"orders": (0, 2), "bills": ()}


def test_nothing_is_assigned_by_nothing() -> None:
    assert assigned_partitions(b"") == {}


@given(st.binary(max_size=60))
def test_other_bytes_are_no_assignment_and_do_no_harm(data: bytes) -> None:
    assigned = assigned_partitions(data)
    assert sum(map(len, assigned.values())) <= len(data)
