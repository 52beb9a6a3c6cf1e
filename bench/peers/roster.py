"""Runs the peers that are installed, and lists the others."""

from bench.driver import LoadFailed
from bench.http_line import BadAnswer
from bench.peers import (
    apache_kafka,
    duolog,
    duolog_queues,
    elasticmq,
    moto,
    nats,
    rabbitmq,
    redis,
)
from bench.peers.peer import Peer, PeerResult, result_of
from bench.peers.queue_peer import QueuePeer, QueuePeerResult, QueueTrial, measure
from bench.processes import ServerFailed
from bench.stand import Stand

PEERS: tuple[Peer, ...] = (duolog, nats, redis, rabbitmq, apache_kafka)
QUEUE_PEERS: tuple[QueuePeer, ...] = (duolog_queues, elasticmq, moto)
ATTEMPTS = 3


def run(stand: Stand) -> list[PeerResult]:
    results = []
    for peer in PEERS:
        lacking = peer.missing()
        for trial in peer.trials():
            if lacking:
                results.append(PeerResult(trial.name, note=f"not installed: {lacking}"))
                continue
            stand.progress(f"peers: {trial.name}")
            produced, consumed = trial.run(stand, stand.scale.peer_messages)
            results.append(result_of(trial, produced, consumed))
    return results


def run_queues(stand: Stand) -> list[QueuePeerResult]:
    results = []
    for peer in QUEUE_PEERS:
        lacking = peer.missing()
        for trial in peer.trials():
            if lacking:
                results.append(QueuePeerResult(trial.name, note=f"not installed: {lacking}"))
                continue
            stand.progress(f"peers of queues: {trial.name}")
            results.append(_measure_queue(stand, trial))
    return results


def _measure_queue(stand: Stand, trial: QueueTrial) -> QueuePeerResult:
    """Tried again, since moto answers 500 when certain requests meet."""
    note = ""
    for _ in range(ATTEMPTS):
        try:
            return measure(stand, trial)
        except (ServerFailed, LoadFailed, BadAnswer) as failure:
            note = "failed: " + str(failure).partition("\n")[0]
    return QueuePeerResult(trial.name, note=note)
