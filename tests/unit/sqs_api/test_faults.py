"""The table of refusals is total, and each is an error that SQS clients know."""

from duolog.model.errors import Refusal
from duolog.model.queue_errors import MessageNotInflight, QueueDoesNotExist, QueueRefusal
from duolog.sqs_api.faults import NAMES, error_entry, fault_of
from duolog.wire.sqs.errors import FAULTS


def _all_refusals(kind: type[Refusal]) -> set[type[Refusal]]:
    found = set()
    for child in kind.__subclasses__():
        found |= {child} | _all_refusals(child)
    return found


def test_every_refusal_has_an_error() -> None:
    ours = {kind for kind in _all_refusals(Refusal) if kind.__module__.startswith("duolog.model.")}
    wanted = ours - {QueueRefusal}
    assert [
        f"add {kind.__module__}.{kind.__name__} to NAMES in src/duolog/sqs_api/faults.py: to"
        " _BY_NAME if SQS has an error of this name, to the others with the error that a client"
        " sees"
        for kind in wanted
        if kind not in NAMES
    ] == []
    assert set(NAMES) == wanted


def test_every_error_is_one_of_the_wire() -> None:
    assert set(NAMES.values()) <= set(FAULTS)


def test_an_error_says_what_the_refusal_says() -> None:
    fault = fault_of(QueueDoesNotExist("It is not there."))
    assert fault.code == "QueueDoesNotExist"
    assert fault.query_code == "AWS.SimpleQueueService.NonExistentQueue"
    assert fault.message == "It is not there."


def test_a_refusal_without_words_has_those_of_its_error() -> None:
    assert fault_of(QueueDoesNotExist()).message


def test_an_error_quotes_only_so_much() -> None:
    assert len(fault_of(QueueDoesNotExist("x" * 1_000_000)).message) < 2_000


def test_an_entry_of_a_batch_tells_the_older_code() -> None:
    entry = error_entry("a", MessageNotInflight("Not now."))
    assert (entry.id, entry.sender_fault) == ("a", True)
    assert entry.code == "AWS.SimpleQueueService.MessageNotInflight"
    assert entry.message == "Not now."
