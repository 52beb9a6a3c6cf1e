"""Permissions of a client on a resource, as bits numbered like Kafka's ACL operations.

There is no authorization, so every client may do everything that a kind of resource allows.
"""

from enum import IntEnum


class _Operation(IntEnum):
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


def _bits(*operations: _Operation) -> int:
    return sum(1 << operation for operation in operations)


ALL_ON_CLUSTER = _bits(
    _Operation.CREATE,
    _Operation.ALTER,
    _Operation.DESCRIBE,
    _Operation.CLUSTER_ACTION,
    _Operation.DESCRIBE_CONFIGS,
    _Operation.ALTER_CONFIGS,
    _Operation.IDEMPOTENT_WRITE,
)
ALL_ON_TOPIC = _bits(
    _Operation.READ,
    _Operation.WRITE,
    _Operation.CREATE,
    _Operation.DELETE,
    _Operation.ALTER,
    _Operation.DESCRIBE,
    _Operation.DESCRIBE_CONFIGS,
    _Operation.ALTER_CONFIGS,
)
ALL_ON_GROUP = _bits(_Operation.READ, _Operation.DELETE, _Operation.DESCRIBE)
