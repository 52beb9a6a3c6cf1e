"""Arbitrary requests and answers, as a client of botocore would write and read them."""

from typing import Any

from botocore.model import Shape as ModelShape
from hypothesis import strategies as st

# What XML can hold, since every answer must survive both protocols.
_FORBIDDEN = [*(chr(code) for code in range(0x20) if code not in b"\t\n\r"), "\ufffe", "\uffff"]
TEXT = st.text(st.characters(codec="utf-8", exclude_characters=_FORBIDDEN), max_size=20)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "integer": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
    "blob": st.binary(max_size=20),
}


def values_of(shape: ModelShape) -> st.SearchStrategy[Any]:
    match shape.type_name:
        case "structure":
            members = {name: values_of(member) for name, member in shape.members.items()}
            required = set(shape.required_members)
            return st.fixed_dictionaries(
                {name: members[name] for name in members if name in required},
                optional={name: members[name] for name in members if name not in required},
            )
        case "list":
            return st.lists(values_of(shape.member), max_size=3)
        case "map":
            return st.dictionaries(TEXT, values_of(shape.value), max_size=3)
        case scalar:
            return SCALARS[scalar]


def without_empty(value: Any) -> Any:
    """Flattened lists and maps that are empty cannot be told from absent ones."""
    if isinstance(value, dict):
        kept = {name: without_empty(each) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each != [] and each != {}}
    if isinstance(value, list):
        return [without_empty(each) for each in value]
    return value
