"""Kafka APIs that are served, and at which versions.

The ranges are Kafka 4.3's, so that every client since 2.1 finds what it needs.
"""

from enum import IntEnum
from typing import NamedTuple


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    DESCRIBE_LOG_DIRS = 35
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLUSTER = 60
    DESCRIBE_TOPIC_PARTITIONS = 75


NEVER = 0x8000
"""Version that no request can name: the first flexible version of an API that has none."""


class Api(NamedTuple):
    key: ApiKey
    min_version: int
    max_version: int
    flexible_from: int
    """First version with compact lengths and tagged fields, in headers and bodies alike."""
    advertised_min_version: int
    """Lowest version advertised; below `min_version` only if clients misread an honest answer."""

    @property
    def name(self) -> str:
        """The API's name on the wire, in snake case."""
        return self.key.name.lower()

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version


def _api(
    key: ApiKey,
    min_version: int,
    max_version: int,
    flexible_from: int,
    advertised_min_version: int | None = None,
) -> Api:
    if advertised_min_version is None:
        advertised_min_version = min_version
    return Api(key, min_version, max_version, flexible_from, advertised_min_version)


APIS: dict[int, Api] = {
    api.key: api
    for api in (
        # Versions 0-2 carry a message format that is no longer stored. They are advertised all the
        # same: librdkafka takes their absence to mean that there is no compression.
        _api(ApiKey.PRODUCE, 3, 13, flexible_from=9, advertised_min_version=0),
        _api(ApiKey.FETCH, 4, 18, flexible_from=12),
        _api(ApiKey.LIST_OFFSETS, 1, 11, flexible_from=6),
        _api(ApiKey.METADATA, 0, 13, flexible_from=9),
        _api(ApiKey.OFFSET_COMMIT, 2, 10, flexible_from=8),
        _api(ApiKey.OFFSET_FETCH, 1, 10, flexible_from=6),
        _api(ApiKey.FIND_COORDINATOR, 0, 6, flexible_from=3),
        _api(ApiKey.JOIN_GROUP, 0, 9, flexible_from=6),
        _api(ApiKey.HEARTBEAT, 0, 4, flexible_from=4),
        _api(ApiKey.LEAVE_GROUP, 0, 5, flexible_from=4),
        _api(ApiKey.SYNC_GROUP, 0, 5, flexible_from=4),
        _api(ApiKey.DESCRIBE_GROUPS, 0, 6, flexible_from=5),
        _api(ApiKey.LIST_GROUPS, 0, 5, flexible_from=3),
        _api(ApiKey.API_VERSIONS, 0, 4, flexible_from=3),
        _api(ApiKey.CREATE_TOPICS, 2, 7, flexible_from=5),
        _api(ApiKey.DELETE_TOPICS, 1, 6, flexible_from=4),
        _api(ApiKey.DELETE_RECORDS, 0, 2, flexible_from=2),
        _api(ApiKey.INIT_PRODUCER_ID, 0, 5, flexible_from=2),
        _api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, flexible_from=4),
        _api(ApiKey.DESCRIBE_CONFIGS, 1, 4, flexible_from=4),
        _api(ApiKey.ALTER_CONFIGS, 0, 2, flexible_from=2),
        _api(ApiKey.DESCRIBE_LOG_DIRS, 1, 4, flexible_from=2),
        _api(ApiKey.CREATE_PARTITIONS, 0, 3, flexible_from=2),
        _api(ApiKey.DELETE_GROUPS, 0, 2, flexible_from=2),
        _api(ApiKey.ELECT_LEADERS, 0, 2, flexible_from=2),
        _api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, flexible_from=1),
        _api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1, flexible_from=0),
        _api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, flexible_from=0),
        _api(ApiKey.OFFSET_DELETE, 0, 0, flexible_from=NEVER),
        _api(ApiKey.DESCRIBE_CLUSTER, 0, 2, flexible_from=0),
        _api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, flexible_from=0),
    )
}


def serves(api_key: int, version: int) -> bool:
    api = APIS.get(api_key)
    return api is not None and api.serves(version)


def request_header_version(api_key: int, version: int) -> int:
    """2 if tagged fields follow the client id, else 1; an unknown API counts as old."""
    api = APIS.get(api_key)
    return 2 if api is not None and version >= api.flexible_from else 1


def response_header_version(api_key: int, version: int) -> int:
    """1 if tagged fields follow the correlation id, else 0.

    A client that sends ApiVersions does not know yet which header the broker can write, so that
    answer keeps the old one at every version.
    """
    if api_key == ApiKey.API_VERSIONS:
        return 0
    return request_header_version(api_key, version) - 1
