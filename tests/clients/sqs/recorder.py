"""Watches a boto3 client: which members of the model really went over the wire, and back."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from botocore.model import OperationModel, Shape


def members(shape: Shape | None, path: str = "") -> Iterator[str]:
    """Every member of a structure, and of what it holds, as `Entries[].Id`."""
    match shape.type_name if shape is not None else None:
        case "structure":
            for name, member in shape.members.items():  # type: ignore[union-attr]
                yield f"{path}{name}"
                yield from members(member, f"{path}{name}.")
        case "list":
            yield from members(shape.member, f"{path[:-1]}[].")  # type: ignore[union-attr]
        case "map":
            yield from members(shape.value, f"{path[:-1]}{{}}.")  # type: ignore[union-attr]


class Recorder:
    def __init__(self, sqs: Any) -> None:
        self.sent: dict[str, set[str]] = defaultdict(set)
        """By action, the members that its requests had."""
        self.got: dict[str, set[str]] = defaultdict(set)
        """By action, the members that its answers had."""
        self.names: dict[tuple[str, str], set[str]] = defaultdict(set)
        """By "sent" or "got" and enumeration, its values that were seen."""
        sqs.meta.events.register("provide-client-params.sqs", self._on_sent)
        sqs.meta.events.register("after-call.sqs", self._on_got)

    def forget(self) -> None:
        for seen in (self.sent, self.got, self.names):
            seen.clear()

    def _on_sent(self, params: dict[str, Any], model: OperationModel, **_: Any) -> None:
        self._note("sent", self.sent[model.name], model.input_shape, params, "")

    def _on_got(self, parsed: dict[str, Any], model: OperationModel, **_: Any) -> None:
        if "Error" not in parsed and model.output_shape is not None:
            answer = {name: parsed[name] for name in parsed if name != "ResponseMetadata"}
            self._note("got", self.got[model.name], model.output_shape, answer, "")

    def _note(self, way: str, seen: set[str], shape: Any, value: Any, path: str) -> None:
        if getattr(shape, "enum", None):
            self.names[way, shape.name].add(value)
        match shape.type_name:
            case "structure":
                for name in value.keys() & shape.members.keys():
                    seen.add(f"{path}{name}")
                    self._note(way, seen, shape.members[name], value[name], f"{path}{name}.")
            case "list":
                for each in value:
                    self._note(way, seen, shape.member, each, f"{path[:-1]}[].")
            case "map":
                for key, each in value.items():
                    self._note(way, seen, shape.key, key, "")
                    self._note(way, seen, shape.value, each, f"{path[:-1]}{{}}.")
