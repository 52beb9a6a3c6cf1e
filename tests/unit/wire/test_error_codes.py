"""Our names for Kafka's error codes are Kafka's."""

from kio.schema.errors import ErrorCode as KioErrorCode

from duolog.wire.kafka.error_codes import ErrorCode


def test_every_code_is_kafkas() -> None:
    assert {code.name: int(code) for code in ErrorCode} == {
        code.name: int(KioErrorCode[code.name.lower()]) for code in ErrorCode
    }
