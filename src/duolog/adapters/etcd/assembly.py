"""Puts the answers to a watch together to whole revisions, each once. Pure: no clock, no IO."""

from collections.abc import Iterator

from duolog.adapters.etcd.messages import Event, WatchAnswer


class Assembly:
    def __init__(self, from_revision: int) -> None:
        self.next_revision = from_revision
        """All before it was handed out, or concerned no watched key: go on from here."""
        self._revision = 0
        self._held: list[Event] = []
        """Of `_revision`, which the next message may go on with. etcd bounds how much that is,
        as it bounds a transaction."""

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
            # A report of progress: etcd sends it only after everything before it. The message
            # that the watch is there names a revision too, but that one is still to come.
            self.next_revision = max(self.next_revision, answer.header.revision + 1)

    def restart(self) -> None:
        """The stream broke; the next one begins with the revision that was incomplete."""
        self._held = []
        self._revision = 0

    def _complete(self) -> Iterator[tuple[int, list[Event]]]:
        if self._held:
            events, self._held = self._held, []
            self.next_revision = self._revision + 1
            yield self._revision, events
