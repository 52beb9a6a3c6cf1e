"""The table of refusals is total, and says each thing once."""

from duolog.kafka_api.errors import CODES, code_of
from duolog.model.errors import Refusal
from duolog.model.queue_errors import QueueRefusal


def _all_refusals(kind: type[Refusal]) -> set[type[Refusal]]:
    found = set()
    for child in kind.__subclasses__():
        found |= {child} | _all_refusals(child)
    return found


def test_every_refusal_but_those_of_queues_has_a_code() -> None:
    ours = {kind for kind in _all_refusals(Refusal) if kind.__module__.startswith("duolog.")}
    wanted = ours - {QueueRefusal} - _all_refusals(QueueRefusal)
    assert [
        f"add `refused.{kind.__name__}: ErrorCode.<code>,` to CODES in"
        " src/duolog/kafka_api/errors.py"
        for kind in wanted
        if kind not in CODES
    ] == []
    assert set(CODES) == wanted


def test_no_refusal_means_success() -> None:
    assert all(code_of(kind("why")) != 0 for kind in CODES)
