"""The command line, as a user meets it."""

import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from tests.harness.privileges import unprivileged
from typer.testing import CliRunner

from duolog import __version__
from duolog.cli.main import app
from duolog.config.node import NODE_SETTINGS
from duolog.config.reference import reference_page
from duolog.observe.c_modules import NODE_MODULES, SPARK_MODULES


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments, env={"NO_COLOR": "1"})


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Stands in for the real one, which would serve until it is stopped."""
    module = types.ModuleType("duolog.app.node")

    class StartRefused(Exception):
        pass

    def run(settings: Any, ready_file: Any, on_ready: Any) -> int:
        module.started = settings, ready_file  # type: ignore[attr-defined]
        on_ready({"kafka": "127.0.0.1:1"})
        return 0

    module.run, module.StartRefused = run, StartRefused  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "duolog.app.node", module)
    monkeypatch.setattr("duolog.app.node", module, raising=False)
    return module


def test_help_does_not_import_what_it_does_not_need() -> None:
    program = (
        "import sys\nfrom duolog.cli.main import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "heavy = {'kio', 'pydantic', 'prometheus_client', 'rich', 'structlog'}\n"
        "heavy |= {'uvloop', 'httptools'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_package_can_be_run_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "duolog", "version"], capture_output=True, check=True, text=True
    )
    assert done.stdout.startswith(f"duolog {__version__}\nC modules: ")


def test_the_version_is_data() -> None:
    (row,) = json.loads(invoke("version", "-o", "json").stdout)
    assert row["version"] == __version__
    assert set(row["c_modules"]) == {*NODE_MODULES, *SPARK_MODULES}


def test_the_version_names_the_c_modules_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duolog.observe.c_modules._is_built", lambda name: not name.endswith("5"))
    (row,) = json.loads(invoke("version", "-o", "json").stdout)
    assert [name for name, built in row["c_modules"].items() if not built] == [
        "duolog.wire.sqs._md5"
    ]
    told = invoke("version")
    assert "C modules: 6 of 7 are built\n  missing: duolog.wire.sqs._md5\n" in told.stdout
    assert "Install a C compiler" in told.stderr


def test_the_version_can_be_asked_for_as_an_option() -> None:
    result = invoke("--version")
    assert (result.exit_code, result.stdout) == (0, f"duolog {__version__}\n")


def test_the_help_promises_no_more_than_there_is() -> None:
    assert "on one node or many" in " ".join(invoke("--help").stdout.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("dance",), "There is no command `duolog dance`. Run `duolog -h` to see what it takes."),
        (
            ("topic", "crate", "x"),
            "There is no command `duolog topic crate`. Did you mean `duolog topic create`?",
        ),
        (
            ("queue", "delete", "x"),
            "There is no command `duolog queue delete`. Did you mean `duolog queue rm`?",
        ),
        (
            ("topic", "ls", "--kafkka", "x"),
            "`duolog topic ls` has no option --kafkka. Did you mean --kafka?",
        ),
        (
            ("queue", "receive", "x", "--admin", "y"),
            "`duolog queue receive` has no option --admin. Run `duolog queue receive -h` to see"
            " what it takes.",
        ),
        (
            ("queue", "ls", "--admin", "localhost"),
            "--admin was given 'localhost', but must be host:port."
            " For example: --admin 127.0.0.1:9325.",
        ),
        (
            ("topic", "ls", "-o", "jsn"),
            "--output was given 'jsn', but takes table, json or jsonl. Did you mean 'json'?",
        ),
        (
            ("topic", "ls", "-o", "yaml"),
            "--output was given 'yaml', but takes table, json or jsonl."
            " Run `duolog topic ls -h` to see what it takes.",
        ),
        (
            ("queue", "send", "x", "--delay", "1000"),
            "--delay was given '1000', but takes a whole number, from 0 to 900."
            " Run `duolog queue send -h` to see what it takes.",
        ),
        (
            ("queue", "receive", "x", "--wait", "long"),
            "--wait was given 'long', but takes a number, 0 or more."
            " Run `duolog queue receive -h` to see what it takes.",
        ),
        (
            ("cluster", "kill", "one"),
            "NODE was given 'one', but takes a whole number, 0 or more."
            " Run `duolog cluster kill -h` to see what it takes.",
        ),
        (
            ("topic", "create"),
            "`duolog topic create` needs NAME. Run `duolog topic create -h` to see what it takes.",
        ),
        (
            ("topic", "ls", "more"),
            "`duolog topic ls` has no place for 'more'. Run `duolog topic ls -h` to see what it"
            " takes.",
        ),
        (
            ("topic", "ls", "-o"),
            "The option -o needs a value. Run `duolog topic ls -h` to see what it takes.",
        ),
        (
            ("topic", "ls", "--internal=yes"),
            "The option --internal takes no value. Run `duolog topic ls -h` to see what it takes.",
        ),
    ],
)
def test_a_mistyped_command_line_says_what_is_wrong_and_what_to_do(
    arguments: tuple[str, ...], said: str
) -> None:
    done = invoke(*arguments)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"{said}\n")


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_config_show_lists_every_setting_with_its_source(form: str) -> None:
    result = invoke("config", "show", "-o", form, "--set", "node.id=7")
    rows = (
        json.loads(result.stdout)
        if form == "json"
        else [json.loads(line) for line in result.stdout.splitlines()]
    )
    assert [row["name"] for row in rows] == list(NODE_SETTINGS)
    by_name = {row["name"]: row for row in rows}
    assert by_name["node.id"] == {
        "name": "node.id",
        "value": "7",
        "unit": "",
        "source": "flag",
        "default": "1",
        "doc": NODE_SETTINGS["node.id"].doc,
    }
    assert by_name["num.partitions"]["source"] == "default"


def test_config_show_is_a_table_unless_asked_otherwise() -> None:
    header, *lines = invoke("config", "show").stdout.splitlines()
    assert header.split() == ["NAME", "VALUE", "UNIT", "SOURCE"]
    assert len(lines) == len(NODE_SETTINGS)


def test_config_show_keeps_secrets_to_itself() -> None:
    for form in ("table", "json"):
        shown = invoke("config", "show", "-o", form, "--set", "sqs.credentials=AKIA:hunter2")
        assert "(secret)" in shown.stdout
        assert "hunter2" not in shown.output


def test_config_reference_prints_the_page() -> None:
    assert invoke("config", "reference").stdout == reference_page()


def test_serve_hands_its_settings_to_the_node(node: Any, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    config = tmp_path / "node.toml"
    config.write_text("[num]\npartitions = 9\n")
    result = invoke(
        *("serve", "--data", "d", "--kafka", "localhost:1", "--admin", "localhost:2"),
        *("--config", str(config), "--set", "node.id=4", "--ready-file", str(ready)),
    )
    assert result.exit_code == 0, result.output
    settings, ready_file = node.started
    assert ready_file == ready
    assert settings.text("data.dir") == "d"
    assert settings.text("kafka.listen") == "localhost:1"
    assert settings.text("admin.listen") == "localhost:2"
    assert settings.get("num.partitions") == 9
    assert settings.get("node.id") == 4


def test_a_greeting_is_for_people_and_goes_to_stderr(node: Any) -> None:
    assert "Duolog is ready" not in invoke("serve").output
    greeted = invoke("serve", "--set", "log.format=text")
    assert "Duolog is ready" in greeted.stderr
    assert greeted.stdout == ""


def test_a_node_that_listens_everywhere_is_shown_where_it_can_be_reached(node: Any) -> None:
    def run(settings: Any, ready_file: Any, on_ready: Any) -> int:
        on_ready({"sqs": "0.0.0.0:9324", "admin": "[::]:9325"})
        return 0

    node.run = run
    greeted = invoke("serve", "--set", "log.format=text", "--set", "sqs.region=eu-west-1").stderr
    assert "http://127.0.0.1:9324" in greeted
    assert "http://[::1]:9325" in greeted
    assert "0.0.0.0" not in greeted
    assert 'region_name="eu-west-1"' in greeted


def test_the_node_s_exit_code_is_the_command_s(node: Any) -> None:
    node.run = lambda *_: 1
    assert invoke("serve").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--set", "node.idd=1"), "did you mean node.id?"),
        (("--set", "node.id"), "not of the form name=value"),
        (("--kafka", "nowhere"), "kafka.listen (command line) is 'nowhere' but must be host:port."),
        (("--config", "absent.toml"), "absent.toml cannot be read"),
    ],
)
def test_wrong_settings_are_a_usage_error(
    node: Any, arguments: tuple[str, ...], sentence: str
) -> None:
    result = invoke("serve", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stdout == ""


def test_a_missing_file_is_answered_with_advice_about_files(node: Any) -> None:
    advice = invoke("serve", "--config", "absent.toml").stderr
    assert advice.endswith("Check the path.\n")
    assert "config reference" not in advice


@pytest.mark.parametrize(
    "arguments", [("serve", "--config"), ("config", "show", "--config"), ("cluster", "apply")]
)
def test_a_file_that_may_not_be_read_is_answered_with_advice_about_permissions(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.touch(mode=0o000)
    command = [sys.executable, "-m", "duolog", *arguments, str(file)]
    done = subprocess.run(unprivileged(command), capture_output=True, check=False, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"The file {file} cannot be read: Permission denied."
        " Let the user who runs this read it, and enter the directories above it.\n"
    )


def test_a_refused_start_is_told_without_a_traceback(node: Any) -> None:
    def refuse(*_: object) -> int:
        raise node.StartRefused("The directory is in use. Choose another.")

    node.run = refuse
    result = invoke("serve")
    assert result.exit_code == 1
    assert result.stderr == "The directory is in use. Choose another.\n"
