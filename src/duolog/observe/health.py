"""Readiness of a node for traffic, and the reasons if it is not ready."""


class Health:
    """Named conditions, each fine or failed for a reason. Ready when all are fine.

    A condition that a node will need is set to failed before it is first met, so that a node which
    is still starting does not count as ready.
    """

    def __init__(self) -> None:
        self._failed: dict[str, str] = {}
        self._fine: set[str] = set()
        self.notes: dict[str, str] = {}
        """Troubles that do not make the node less ready than others, by name."""

    def note(self, name: str, trouble: str) -> None:
        """Notes a trouble; an empty text ends it."""
        if trouble:
            self.notes[name] = trouble
        else:
            self.notes.pop(name, None)

    def set(self, name: str, ok: bool, reason: str = "") -> None:
        assert ok or reason, "a failed condition needs a reason"
        if ok:
            self._failed.pop(name, None)
            self._fine.add(name)
        else:
            self._fine.discard(name)
            self._failed[name] = reason

    @property
    def ready(self) -> bool:
        """True if all conditions are fine; a node without any is not ready."""
        return bool(self._fine) and not self._failed

    @property
    def reasons(self) -> dict[str, str]:
        """Reason of each failed condition."""
        if not self._fine and not self._failed:
            return {"start": "the node is starting"}
        return dict(self._failed)
