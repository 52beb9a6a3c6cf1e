"""Runs the peers that are installed, and lists the others."""

from bench.peers import apache_kafka, duolog, nats, rabbitmq, redis
from bench.peers.peer import Peer, PeerResult, result_of
from bench.stand import Stand

PEERS: tuple[Peer, ...] = (duolog, nats, redis, rabbitmq, apache_kafka)


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
