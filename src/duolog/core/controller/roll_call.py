"""Reports which nodes joined and left, as events for operators. Pure but for its memory."""

from collections.abc import Iterator

from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage
from duolog.model.cluster import LiveNode


class RollCall:
    """The nodes known to one controller.

    A new controller first assumes that the live nodes and all in-sync members were present.
    """

    def __init__(self) -> None:
        self._epochs: dict[int, int] | None = None

    def events(self, image: ClusterImage, now_ms: int) -> list[Event]:
        known = self._epochs if self._epochs is not None else _counted_on(image)
        self._epochs = {node: live.epoch for node, live in image.live.items()}
        return [*_lost(known, image, now_ms), *_joined(known, image, now_ms)]


def _counted_on(image: ClusterImage) -> dict[int, int]:
    epochs = {node: live.epoch for node, live in image.live.items()}
    for entry in image.entries.values():
        for node in entry.state.in_sync:
            epochs.setdefault(node, 0)
    return epochs


def _lost(known: dict[int, int], image: ClusterImage, now_ms: int) -> Iterator[Event]:
    for node in sorted(known.keys() - image.live.keys()):
        led = sum(entry.state.leader == node for entry in image.entries.values())
        text = f"Its lease has ended. It led {led} partitions; other nodes take them over."
        yield Event(now_ms, "node lost", f"node {node}", text)


def _joined(known: dict[int, int], image: ClusterImage, now_ms: int) -> Iterator[Event]:
    for node in sorted(image.live):
        live = image.live[node]
        if known.get(node) != live.epoch:
            yield Event(now_ms, "node joined", f"node {node}", _how(live, image))


def _how(live: LiveNode, image: ClusterImage) -> str:
    registration = live.registration
    text = f"It is on host '{registration.host}', with epoch {live.epoch}."
    record = image.records.get(live.id)
    if record is None:
        return f"{text} It is new."
    if record.directory != registration.directory:
        return f"{text} It has a different data directory: nothing that it held counts."
    return text if registration.stopped_cleanly else f"{text} It had not stopped cleanly."
