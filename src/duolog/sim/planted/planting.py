"""All mistakes by name, and the switch that puts one into the product for a while."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from duolog.sim.planted import coordination, queues, replication, service
from duolog.sim.planted.mistake import Mistake

PLANTED: Mapping[str, Mistake] = MappingProxyType(
    {**replication.MISTAKES, **coordination.MISTAKES, **queues.MISTAKES, **service.MISTAKES}
)


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """Give the product the mistake of that name within the `with` block."""
    replaced = () if name is None else PLANTED[name].replacements
    kept = [(each.owner, each.name, vars(each.owner)[each.name]) for each in replaced]
    for each in replaced:
        setattr(each.owner, each.name, each.mistaken)
    try:
        yield
    finally:
        for owner, attribute, original in kept:
            setattr(owner, attribute, original)
