"""Comparison of the demo's plan with the pipelines' findings. Pure."""

from typing import NamedTuple

from duolog_pipelines.demo.plan import Plan


class Found(NamedTuple):
    """Findings of the pipelines, each from its own tables."""

    losses: int
    duplicates: int
    billed_messages: int
    archived: int
    replayed: int
    """Records in the target topic after the replay was run twice."""
    deleted: int
    dead_lettered: int
    still_there: int
    unaccounted: int


class Check(NamedTuple):
    what: str
    planned: int
    found: int

    @property
    def holds(self) -> bool:
        return self.planned == self.found


def checks(plan: Plan, found: Found) -> list[Check]:
    handled = plan.sent_to_queue - plan.poisoned - plan.left
    return [
        Check("messages billed", plan.sent, found.billed_messages),
        Check("losses found by the audit", plan.losses, found.losses),
        Check("duplicates found by the audit", plan.duplicates, found.duplicates),
        Check("messages deleted by consumers", handled, found.deleted),
        Check("messages that became dead letters", plan.poisoned, found.dead_lettered),
        Check("messages still there", plan.left, found.still_there),
        Check("messages unaccounted for", 0, found.unaccounted),
        Check("records archived", plan.sent, found.archived),
        Check("records replayed", plan.sent_to_topic, found.replayed),
    ]


def summary(plan: Plan, found: Found) -> dict[str, int]:
    """Plan and findings as plain numbers, for JSON output."""
    return {
        "sent": plan.sent,
        "planted_losses": plan.losses,
        "found_losses": found.losses,
        "planted_duplicates": plan.duplicates,
        "found_duplicates": found.duplicates,
        "billed_messages": found.billed_messages,
        "archived": found.archived,
        "replayed": found.replayed,
    }
