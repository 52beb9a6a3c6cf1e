"""Assembles the answers to a watch into whole revisions, each once. Pure: no clock, no IO."""

from collections.abc import Iterator

from duolog.adapters.etcd.messages import Event, WatchAnswer


class Assembly:
    def __init__(self, from_revision: int) -> None:
        self.next_revision = from_revision
        """Revision to resume from: all before it were returned, or changed no watched key."""
        self._revision = 0
        self._held: list[Event] = []
        """Events of `_revision`, which the next message may continue. etcd bounds their size, as it
        bounds a transaction's."""

    def take(self, answer: WatchAnswer) -> Iterator[tuple[int, list[Event]]]:
        for event in answer.events:
            revision = event.kv.mod_revision
            if revision < self.next_revision:
                continue
            if revision > self._revision:
                yield from self._complete()
                self._revision = revision
            self._held.append(event)
        if answer.fragment:
            return
        yield from self._complete()
        if not answer.events and not answer.created and not answer.canceled:
            # A progress report: etcd sends it only after everything before it. The message that
            # announces the watch names a revision, too, but that one is still to come.
            self.next_revision = max(self.next_revision, answer.header.revision + 1)

    def restart(self) -> None:
        """Drops an incomplete revision after the stream broke; the next stream begins with it."""
        self._held = []
        self._revision = 0

    def _complete(self) -> Iterator[tuple[int, list[Event]]]:
        if self._held:
            events, self._held = self._held, []
            self.next_revision = self._revision + 1
            yield self._revision, events
