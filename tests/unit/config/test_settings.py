"""Where a node's settings come from, and which are refused."""

from pathlib import Path

import pytest

from duolog.config.address import Address
from duolog.config.node import NODE_SETTINGS
from duolog.config.settings import FileUnusable, SettingError, Settings, environment_variable
from duolog.config.topic import TOPIC_SETTINGS, parse_topic_config


def toml(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "node.toml"
    file.write_text(text)
    return file


def test_without_anything_every_setting_has_its_default() -> None:
    settings = Settings.load()
    for name, setting in settings.declared.items():
        assert settings.get(name) == setting.default
        assert settings.source(name) == "default"
    assert settings.get("kafka.listen") == Address("127.0.0.1", 9092)


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    file = toml(tmp_path, "node.id = 1\nnum.partitions = 1\n[log]\nlevel = 'error'\n")
    environ = {"DUOLOG_NODE_ID": "2", "DUOLOG_NUM_PARTITIONS": "2", "PATH": "/bin"}
    settings = Settings.load({"node.id": "3"}, environ, file)
    names = ("node.id", "num.partitions", "log.level", "node.rack")
    assert [settings.get(name) for name in names] == [3, 2, "error", ""]
    assert [settings.source(name) for name in names] == ["flag", "environment", "file", "default"]


def test_a_file_may_nest_its_keys_or_not(tmp_path: Path) -> None:
    nested = toml(tmp_path, "[kafka]\nlisten = 'a:1'\n[topic.retention]\nms = 5\n")
    settings = Settings.load(file=nested)
    assert settings.address("kafka.listen") == Address("a", 1)
    assert settings.topic_defaults()["retention.ms"] == "5"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("num.partition = 1", r"no setting 'num.partition' \(file .*\); did you mean num.parti"),
        ("num.partitions = 'many'", r'num.partitions \(file .*\) is the text "many" but must'),
        ('num.partitions = "4"', 'is the text "4" but must be a whole number .*, unquoted'),
        ('delete.topic.enable = "true"', "must be true or false, unquoted"),
        ("num.partitions = true", "is 'true' but must be"),
        ("num = 1", "no setting 'num'"),
        ("[[num]]\npartitions = 1", "no setting 'num'"),
        ("= 1", "is not valid TOML"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        Settings.load(file=toml(tmp_path, text))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match=r"cannot be read: No such file.*Check the path"):
        Settings.load(file=tmp_path / "absent.toml")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(FileUnusable, match="is not valid TOML"):
        Settings.load(file=file)


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        (
            {"DUOLOG_NODE_IDD": "1"},
            "DUOLOG_NODE_IDD is not a setting; did you mean DUOLOG_NODE_ID?",
        ),
        ({"DUOLOG_NODE_ID": "x"}, r"node.id \(environment variable DUOLOG_NODE_ID\) is 'x'"),
    ],
)
def test_an_environment_that_is_not_understood_is_refused(
    environ: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.load({}, environ)
    assert sentence.replace("\\", "") in str(caught.value)


def test_variables_that_an_orchestrator_sets_beside_a_service_are_not_ours() -> None:
    Settings.load({}, {"DUOLOG_SERVICE_HOST": "10.0.0.1", "DUOLOG_PORT_9092_TCP": "tcp://x:1"})


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"nod.id": "1"}, r"no setting 'nod.id' \(command line\); did you mean node.id\?"),
        ({"node.id": "-1"}, r"node.id \(command line\) is '-1' but must be"),
        ({"kafka.listen": ""}, "must be host:port"),
        ({"kafka.listen": "0.0.0.0:9092"}, "kafka.advertised must be an address that clients"),
        ({"group.min.session.timeout.ms": "2000000"}, "must not exceed group.max.session"),
        ({"topic.flush.ms": "1"}, "use durability"),
        ({"sqs.account.id": "1"}, "must be twelve digits"),
        ({"sqs.region": "Mars!"}, "must be lower-case letters, digits and hyphens"),
        ({"sqs.credentials": "A:1,A:2"}, "gives one key two secrets"),
        ({"push.allow": "10.0.0.1/8"}, "host, host:port, network or network:port"),
        (
            {"topic.min.compaction.lag.ms": "2", "topic.max.compaction.lag.ms": "1"},
            "The defaults of topics do not fit",
        ),
    ],
)
def test_flags_that_cannot_be_honoured_are_refused(flags: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        Settings.load(flags)


def test_a_wildcard_can_be_listened_on_when_another_address_is_advertised() -> None:
    flags = {"kafka.listen": "0.0.0.0:9092", "kafka.advertised": "broker:9092"}
    assert Settings.load(flags).get("kafka.advertised") == Address("broker", 9092)


def test_the_node_has_a_default_for_every_topic_setting() -> None:
    defaults = Settings.load({"topic.durability": "os"}).topic_defaults()
    assert set(defaults) == set(TOPIC_SETTINGS)
    assert parse_topic_config({}, defaults).durability == "os"


def test_no_name_is_the_table_of_another() -> None:
    for name in NODE_SETTINGS:
        assert not any(other.startswith(f"{name}.") for other in NODE_SETTINGS), name


def test_no_two_settings_share_a_variable() -> None:
    assert len({environment_variable(name) for name in NODE_SETTINGS}) == len(NODE_SETTINGS)


@pytest.mark.parametrize("text", ["key", "key:", ":secret", "a:b c", "a:b,", "ä:b"])
def test_a_credential_that_is_none_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(
        SettingError, match="must be a comma-separated list of KEY:SECRET"
    ) as refused:
        Settings.load({"sqs.credentials": text})
    assert f"'{text}'" not in str(refused.value)


def test_a_secret_is_used_and_never_shown() -> None:
    settings = Settings.load({"sqs.credentials": "AKIA1:s3cr:t/+=, AKIA2:other"})
    assert settings.get("sqs.credentials") == ("AKIA1:s3cr:t/+=", "AKIA2:other")
    assert settings.shown("sqs.credentials") == "(secret)"
    assert Settings.load().shown("sqs.credentials") == ""
    assert settings.shown("sqs.region") == "us-east-1"
