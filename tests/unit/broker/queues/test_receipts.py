"""Receipt handles: each is for one delivery of one message, and nobody can make one."""

import uuid

import pytest

from duolog.broker.queues.receipts import RUN_MAX, Receipt, Receipts
from duolog.model.queue_errors import ReceiptHandleIsInvalid

QUEUE = uuid.UUID(int=1)


def receipts(key: bytes = b"k" * 32, queue: uuid.UUID = QUEUE) -> Receipts:
    return Receipts(key, queue)


def test_a_handle_says_which_delivery_it_is_for() -> None:
    handle = receipts().encode(3, 1 << 40, 2, 7, 1_700_000_000_000)
    assert receipts().decode(handle) == Receipt(
        3, range(1 << 40, (1 << 40) + 1), 2, 7, 1_700_000_000_000
    )


@pytest.mark.parametrize("count", [1, 2, 10, RUN_MAX])
def test_handles_that_share_a_seal_are_for_different_messages(count: int) -> None:
    handles = receipts().encode_runs(0, 250, [count], 7, 99)
    opened = receipts()
    assert [opened.decode(each).offsets for each in handles] == [
        range(offset, offset + 1) for offset in range(250, 250 + count)
    ]
    assert {opened.decode(each)[2:] for each in reversed(handles)} == {(1, 7, 99)}


def test_handles_of_one_seal_are_read_together_if_all_of_them_come_in_their_order() -> None:
    own = receipts()
    first, second = own.encode_runs(0, 5, [3], 7, 99), own.encode_runs(0, 8, [2], 7, 99)
    handles = [*first, *second, *second[:1], *reversed(first)]
    read = []
    while sum(map(len, read)) < len(handles):
        read.append(own.decode_from(handles, sum(map(len, read))).offsets)
    assert read == [
        range(5, 8),
        range(8, 10),
        range(8, 9),
        *(range(each, each + 1) for each in (7, 6, 5)),
    ]


def test_a_handle_that_is_no_handle_spoils_only_itself() -> None:
    own = receipts()
    handles = own.encode_runs(0, 5, [3], 7, 99)
    forged = [handles[0], handles[1][:-1] + "9", handles[2]]
    assert own.decode_from(forged, 0).offsets == range(5, 6)
    with pytest.raises(ReceiptHandleIsInvalid):
        own.decode_from(forged, 1)
    assert own.decode_from(forged, 2).offsets == range(7, 8)


def test_a_shared_seal_reaches_no_further_than_what_was_given_out_with_it() -> None:
    handles = receipts().encode_runs(0, 5, [3], 7, 99)
    for place in ("03", "ff", "", "0", "000", "-1", "+1", " 1", "zz"):
        opened = receipts()
        opened.decode(handles[0])
        with pytest.raises(ReceiptHandleIsInvalid):
            opened.decode(handles[0][:-2] + place)


def test_a_handle_that_was_changed_is_invalid_whatever_was_opened_before() -> None:
    handle = receipts().encode(0, 5, 1, 7, 99)
    opened = receipts()
    opened.decode(handle)
    for place, digit in enumerate(handle):
        other = "1" if digit == "0" else "0"
        with pytest.raises(ReceiptHandleIsInvalid):
            opened.decode(handle[:place] + other + handle[place + 1 :])
    assert opened.decode(handle).offsets == range(5, 6)


@pytest.mark.parametrize("handle", ["", "00", "x" * 72, "0" * 71, "0" * 72, "0" * 74, "é" * 72])
def test_what_is_no_handle_is_invalid(handle: str) -> None:
    with pytest.raises(ReceiptHandleIsInvalid):
        receipts().decode(handle)


def test_a_handle_of_another_queue_or_another_cluster_is_invalid() -> None:
    handle = receipts().encode(0, 5, 1, 7, 99)
    for other in (receipts(queue=uuid.UUID(int=2)), receipts(key=b"o" * 32)):
        with pytest.raises(ReceiptHandleIsInvalid):
            other.decode(handle)
