"""Every kind of request between nodes is answered, and nobody has to guess what of it lacks."""

from pathlib import Path
from typing import Any

import duolog
from duolog.peer_api.handlers.queues import queue_handlers
from duolog.wire.peer.kinds import PeerKind

OF_QUEUES = "QUEUE_"
ANSWERED_BY_SESSIONS = {PeerKind.HELLO, PeerKind.CANCEL, PeerKind.PING}


def test_every_request_about_a_queue_is_answered() -> None:
    nobody: Any = None
    answered = queue_handlers(nobody)
    assert [
        f"add `PeerKind.{kind.name}: (requests.<what is asked>, <function>),` to _ANSWERS in"
        " src/duolog/peer_api/handlers/queues.py"
        for kind in PeerKind
        if kind.name.startswith(OF_QUEUES) and kind not in answered
    ] == []
    assert all(PeerKind(kind).name.startswith(OF_QUEUES) for kind in answered)


def test_every_other_request_is_given_to_a_handler() -> None:
    composed = (Path(duolog.__file__).parent / "app" / "cluster.py").read_text(encoding="utf-8")
    assert [
        f"give PeerKind.{kind.name} its handler in src/duolog/app/cluster.py"
        for kind in PeerKind
        if not kind.name.startswith(OF_QUEUES)
        and kind not in ANSWERED_BY_SESSIONS
        and f"PeerKind.{kind.name}" not in composed
    ] == []
