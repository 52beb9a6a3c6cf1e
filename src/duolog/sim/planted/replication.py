"""Mistakes of replication: high watermark, truncation, durability, producer state."""

from typing import Any

from duolog.broker.flusher import Flusher
from duolog.broker.following import FollowingReplica
from duolog.broker.leading import LeadingReplica
from duolog.broker.partition import Partition
from duolog.broker.replica import Replica
from duolog.broker.replication import served_copies
from duolog.core.producers import ProducerTable
from duolog.core.replica.leadership import Leadership
from duolog.log.scan import Scanner
from duolog.records.header import HEADER_BYTES, read_header
from duolog.sim.planted.mistake import Mistake, mistake

_follow = LeadingReplica.follow
_lead = LeadingReplica.lead
_done = Flusher._done


def _follow_and_cut(self: Any, entry: Any) -> bool:
    led = _follow(self, entry)
    self.cut_to(max(self.log.start_offset, self.high_watermark))
    return led


def _lead_and_forget(self: Any, *args: Any, **more: Any) -> bool:
    is_new = _lead(self, *args, **more)
    if is_new:
        self._producers = ProducerTable()
    return is_new


def _watermark_of_few(self: Any, own_end_offset: int) -> Any:
    ends = [
        follower.end_offset for node, follower in self._followers.items() if node in self.maximal
    ]
    return min(own_end_offset, *ends) if ends else own_end_offset


def _read_all(self: Any, offset: int, bytes_max: int) -> Any:
    end_offset = self.log.end_offset
    return None if offset >= end_offset else self.log.read(offset, bytes_max, end_offset)


def _say_yes(self: Any, refusal: Any) -> None:
    for waiting in (self._waiting, self._waiting_durable):
        while waiting:
            waiting.popleft()[1].settle(None)


def _believed_checksum(self: Any, position: int, size: int) -> int:
    return read_header(self._bytes_at(position, HEADER_BYTES)).crc


MISTAKES: dict[str, Mistake] = {
    "truncate-to-high-watermark": mistake(
        "A follower cuts its log by leader epochs, never at its high watermark.",
        (LeadingReplica, "follow", _follow_and_cut),
    ),
    "acknowledge-before-fsync": mistake(
        "Records count as replicated only once they are on disk.",
        (FollowingReplica, "copied_offset", property(lambda self: self.log.end_offset)),
        faults=("power-cut-of-all", "slow-disk"),
    ),
    "watermark-without-followers": mistake(
        "The high watermark is the smallest log end of the in-sync set.",
        (Leadership, "high_watermark", lambda self, own_end_offset: own_end_offset),
    ),
    "ignore-min-insync": mistake(
        "Nothing is acknowledged while fewer than min.insync.replicas are in sync.",
        (Leadership, "high_watermark", _watermark_of_few),
        (Partition, "check_in_sync", lambda self: None),
        faults=("kill", "isolate", "power-cut"),
    ),
    "skip-divergence-check": mistake(
        "A leader tells a follower at which offset their logs diverge.",
        (served_copies, "divergence", lambda *_: None),
    ),
    "read-past-high-watermark": mistake(
        "Readers never pass the high watermark.",
        (Replica, "read", _read_all),
    ),
    "unknown-reported-as-done": mistake(
        "Requests that wait when leadership ends are told that the outcome is unknown.",
        (Replica, "_refuse_all_waiting", _say_yes),
    ),
    "ignore-failed-sync": mistake(
        "A failed fsync ends the use of the log directory.",
        (Flusher, "_done", lambda self, failure: _done(self, None)),
        faults=("failing-sync", "power-cut-of-all", "kill"),
    ),
    "forget-producers-on-fail-over": mistake(
        "A new leader knows the sequence numbers of every producer.",
        (LeadingReplica, "lead", _lead_and_forget),
    ),
    "accept-duplicates": mistake(
        "A repeated batch is recognised by its sequence number.",
        (ProducerTable, "find_duplicate", lambda self, header: None),
    ),
    "skip-checksum-in-recovery": mistake(
        "Recovery checks the checksum of every batch after the recovery point.",
        (Scanner, "_checksum_at", _believed_checksum),
        faults=("power-cut", "power-cut-of-all", "power-cut-while-writing", "slow-disk"),
    ),
}
