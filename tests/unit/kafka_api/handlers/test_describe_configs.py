import pytest
from kio.schema.errors import ErrorCode

from duolog.config.topic import TOPIC_SETTINGS
from duolog.wire.kafka.apis import ApiKey

TOPIC, BROKER, LOGGER = 2, 4, 8
FROM_TOPIC, FROM_NODE, DEFAULT = 1, 4, 5


@pytest.fixture
def flags():
    return {
        "topic.segment.ms": "5000",
        "num.partitions": "4",
        "sqs.credentials": "AKIA:hunter2",
    }


async def describe(broker, kind, name, keys=None, *, version=None, **options):
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    response = await broker.call(ApiKey.DESCRIBE_CONFIGS, version, resources=[resource], **options)
    (result,) = response.results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@pytest.mark.parametrize("version", range(1, 5))
async def test_every_setting_of_a_topic_is_described_at_every_version(broker, version):
    await broker.catalog.create_topic("orders", 1, {"retention.ms": "1000"})
    result = await describe(broker, TOPIC, "orders", version=version)
    assert result.error_code == ErrorCode.none
    assert [config.name for config in result.configs] == list(TOPIC_SETTINGS)
    found = {config.name: (config.value, config.config_source) for config in result.configs}
    assert found["retention.ms"] == ("1000", FROM_TOPIC)
    assert found["segment.ms"] == ("5000", FROM_NODE)
    assert found["cleanup.policy"] == ("delete", DEFAULT)
    assert found["unclean.leader.election.enable"] == ("false", DEFAULT)


async def test_synonyms_show_where_a_value_would_come_from_next(broker):
    await broker.catalog.create_topic("orders", 1, {"segment.ms": "1000"})
    result = await describe(broker, TOPIC, "orders", ["segment.ms"], include_synonyms=True)
    (config,) = result.configs
    assert [(each.name, each.value, each.source) for each in config.synonyms] == [
        ("segment.ms", "1000", FROM_TOPIC),
        ("log.roll.ms", "5000", FROM_NODE),
        ("log.roll.ms", "604800000", DEFAULT),
    ]


@pytest.mark.parametrize(
    ("name", "synonym"),
    [
        ("retention.ms", "log.retention.ms"),
        ("delete.retention.ms", "log.cleaner.delete.retention.ms"),
        ("durability", "topic.durability"),
    ],
)
async def test_a_default_is_named_as_the_broker_calls_it(broker, name, synonym):
    await broker.catalog.create_topic("orders", 1, {})
    result = await describe(broker, TOPIC, "orders", [name], include_synonyms=True)
    ((default,),) = [config.synonyms for config in result.configs]
    assert (default.name, default.source) == (synonym, DEFAULT)
    result = await describe(broker, BROKER, "3", [synonym], include_synonyms=True)
    ((same,),) = [config.synonyms for config in result.configs]
    assert same == default


async def test_the_data_directory_is_named_from_the_root_on(broker, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (config,) = (await describe(broker, BROKER, "3", ["log.dirs"])).configs
    assert config.value == str(tmp_path / "duolog-data")


async def test_synonyms_and_documentation_come_only_when_asked_for(broker):
    await broker.catalog.create_topic("orders", 1, {})
    plain = await describe(broker, TOPIC, "orders", ["retention.ms"])
    assert plain.configs[0].synonyms == ()
    assert plain.configs[0].documentation is None
    full = await describe(broker, TOPIC, "orders", ["retention.ms"], include_documentation=True)
    assert full.configs[0].documentation == TOPIC_SETTINGS["retention.ms"].doc


async def test_types_are_kafkas(broker):
    await broker.catalog.create_topic("orders", 1, {})
    result = await describe(broker, TOPIC, "orders")
    types = {config.name: config.config_type for config in result.configs}
    assert types["unclean.leader.election.enable"] == 1
    assert types["durability"] == 2
    assert types["segment.bytes"] == 3
    assert types["retention.ms"] == 5
    assert types["min.cleanable.dirty.ratio"] == 6
    assert types["cleanup.policy"] == 7


async def test_no_keys_mean_all_keys(broker):
    await broker.catalog.create_topic("orders", 1, {})
    assert len((await describe(broker, TOPIC, "orders", [])).configs) == len(TOPIC_SETTINGS)


async def test_a_nodes_settings_are_described_and_cannot_be_changed(broker):
    result = await describe(broker, BROKER, "3")
    found = {config.name: config for config in result.configs}
    assert (found["num.partitions"].value, found["num.partitions"].config_source) == (
        "4",
        FROM_NODE,
    )
    assert found["delete.topic.enable"].value == "true"
    assert found["log.roll.ms"].value == "5000"
    assert all(config.read_only for config in result.configs)


async def test_there_are_no_settings_common_to_all_brokers(broker):
    result = await describe(broker, BROKER, "")
    assert (result.error_code, result.configs) == (ErrorCode.none, ())


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "nothing", ErrorCode.unknown_topic_or_partition),
        (TOPIC, "no/thing", ErrorCode.invalid_topic_exception),
        (TOPIC, "", ErrorCode.invalid_topic_exception),
        (BROKER, "4", ErrorCode.invalid_request),
        (BROKER, "three", ErrorCode.invalid_request),
        (LOGGER, "3", ErrorCode.invalid_request),
    ],
)
async def test_an_unknown_resource_is_refused_with_a_reason(broker, kind, name, error):
    result = await describe(broker, kind, name)
    assert result.error_code == error
    assert result.error_message
    assert result.configs == ()


async def test_a_secret_is_described_without_its_value(broker):
    result = await describe(broker, BROKER, "3", ["sqs.credentials"], include_synonyms=True)
    (config,) = result.configs
    assert (config.value, config.is_sensitive, config.config_source) == (None, True, FROM_NODE)
    assert "hunter2" not in str(result)
