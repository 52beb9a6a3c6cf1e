"""kio as the oracle: entities from plain values, and kio's own bytes of them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from io import BytesIO
from random import Random
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from duolog.wire.kafka.schema import SchemaField, describe, entity

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "error_code": ErrorCode,
    "timedelta_i32": lambda value: timedelta(milliseconds=value),
    "timedelta_i64": lambda value: timedelta(milliseconds=value),
    "datetime_i64": lambda value: None if value == -1 else EPOCH + timedelta(milliseconds=value),
}
RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "timedelta_i32": (-(2**31), 2**31 - 1),
    "timedelta_i64": (-(2**40), 2**40),
}


class Kio:
    def entity(self, struct: Any, values: Mapping[str, Any]) -> Any:
        """A kio entity from plain values, of which it takes those that it has."""
        converted = {}
        for field in describe(struct):
            if field.name in values:
                converted[field.name] = self._converted(field, values[field.name])
        return struct(**converted)

    def _converted(self, field: SchemaField, value: Any) -> Any:
        if value is None:
            return None
        if field.is_array:
            return tuple(self._item(field, item) for item in value)
        return self._item(field, value)

    def _item(self, field: SchemaField, value: Any) -> Any:
        if field.struct is not None:
            return self.entity(field.struct, value)
        return CONVERSIONS.get(field.type, lambda same: same)(value)

    def write(self, message: Any) -> bytes:
        buffer = BytesIO()
        entity_writer(type(message))(buffer, message)
        return buffer.getvalue()

    def read(self, struct: Any, data: bytes) -> Any:
        message, size = entity_reader(struct)(data, 0)
        assert size == len(data)
        return message

    def bytes_of(self, api_key: int, version: int, kind: Any, values: Mapping[str, Any]) -> bytes:
        return self.write(self.entity(entity(api_key, version, kind), values))

    def values(self, struct: Any, random: Random) -> dict[str, Any]:
        """Arbitrary plain values for every field; times are whole, to survive kio's floats."""
        return {field.name: self._value(field, random) for field in describe(struct)}

    def _value(self, field: SchemaField, random: Random) -> Any:
        if field.tag is not None and random.random() < 0.5:
            return {} if field.struct is not None and not field.is_array else field.default
        if field.is_nullable and field.tag is None and random.random() < 0.3:
            return None
        if field.is_array:
            return [self._one(field, random) for _ in range(random.choice((0, 1, 2, 3)))]
        return self._one(field, random)

    def _one(self, field: SchemaField, random: Random) -> Any:
        match field.type:
            case "":
                return self.values(field.struct, random)
            case "bool":
                return random.random() < 0.5
            case "string":
                return "".join(random.choices("abc-é漢", k=random.choice((0, 1, 5, 200))))
            case "bytes" | "records":
                return random.randbytes(random.choice((0, 1, 126, 127, 128, 300)))
            case "uuid":
                return UUID(bytes=random.randbytes(16))
            case "error_code":
                return random.choice([code.value for code in ErrorCode])
            case "datetime_i64":
                return random.choice((-1, 1_000 * random.randrange(2**31)))
            case kafka_type:
                low, high = RANGES[kafka_type]
                return random.choice((low, -1, 0, 1, high, random.randint(low, high)))


@pytest.fixture(scope="session")
def kio() -> Kio:
    return Kio()
