"""The places that CONTRIBUTING.md names under "Where a feature goes", and how each is taken out.

One feature of each kind stands for all: its places are there, and tests must notice when one of
them is not. A test compares this list with the page.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "A Kafka API",
    "An SQS action",
    "A queue attribute",
    "A setting",
    "A command",
    "A metric",
    "A pipeline",
    "A refusal",
    "A request between nodes",
]


@dataclass(frozen=True)
class Cut:
    """What is taken out of the files that a glob finds."""

    files: str
    pattern: str = ""
    """A regular expression, `^` and `$` at lines; empty takes the whole file."""
    instead: str = ""


@dataclass(frozen=True)
class Place:
    kind: Kind
    path: str
    """As CONTRIBUTING.md has it; `<…>` stands for the feature's own name."""
    name: str
    """Of the table, the class or the section; empty where it is the file itself."""
    cuts: tuple[Cut, ...]
    watch: str
    """The part of `make check` that watches it: `mypy` or `pytest`, and of which files."""
    words: str
    """A regular expression of what the failure must say."""


_KAFKA = "pytest tests/unit/kafka_api/test_dispatch.py"
_SQS = "pytest tests/unit/sqs_api/test_dispatch.py"
_QUEUE = "pytest tests/unit/config/test_queue.py"
_PAGE = "pytest tests/unit/cli/test_page.py"
_SETTINGS = "pytest tests/style/test_settings_page.py"
_METRICS = "pytest tests/style/test_metrics_page.py"
_PIPELINES = "pytest tests/style/test_pipelines_page.py"
_REFUSALS = "pytest tests/unit/kafka_api/test_errors.py tests/unit/sqs_api/test_faults.py"

_APIS = "src/duolog/wire/kafka/apis.py"
_ATTRIBUTES = "src/duolog/config/queue_attributes.py"
_HANDLERS = "src/duolog/kafka_api/handlers"
_ROUTING = "src/duolog/broker/queues/routing"
_MESSAGES = "src/duolog/wire/sqs/messages"

PLACES: tuple[Place, ...] = (
    # DeleteRecords.
    Place(
        "A Kafka API",
        _APIS,
        "ApiKey",
        (Cut(_APIS, r"^    DELETE_RECORDS = 21\n"),),
        f"mypy {_APIS}",
        r'"type\[ApiKey\]" has no attribute "DELETE_RECORDS"',
    ),
    Place(
        "A Kafka API",
        _APIS,
        "APIS",
        (Cut(_APIS, r"^        _api\(ApiKey\.DELETE_RECORDS,.*\n"),),
        _KAFKA,
        r"add `_api\(ApiKey\.DELETE_RECORDS, .* to APIS in src/duolog/wire/kafka/apis\.py",
    ),
    Place(
        "A Kafka API",
        f"{_HANDLERS}/<api>.py",
        "handle",
        (Cut(f"{_HANDLERS}/delete_records.py"),),
        _KAFKA,
        r"cannot import name 'delete_records' from 'duolog\.kafka_api\.handlers'",
    ),
    Place(
        "A Kafka API",
        "src/duolog/kafka_api/dispatch.py",
        "HANDLERS",
        (
            Cut("src/duolog/kafka_api/dispatch.py", r"^    delete_records,\n"),
            Cut("src/duolog/kafka_api/dispatch.py", r"^    ApiKey\.DELETE_RECORDS: .*\n"),
        ),
        _KAFKA,
        r"add `ApiKey\.DELETE_RECORDS: delete_records\.handle,` to HANDLERS in src/duolog/kafka_",
    ),
    Place(
        "A Kafka API",
        "tests/harness/requests.py",
        "REQUESTS",
        (
            Cut(
                "tests/harness/requests.py",
                r"^    ApiKey\.DELETE_RECORDS: \{\n(?:     .*\n)*    \},\n",
            ),
        ),
        _KAFKA,
        r"add `ApiKey\.DELETE_RECORDS: .* to REQUESTS in tests/harness/requests\.py",
    ),
    Place(
        "A Kafka API",
        "tests/unit/kafka_api/handlers/test_<api>.py",
        "",
        (Cut("tests/unit/kafka_api/handlers/test_delete_records.py"),),
        _KAFKA,
        r"add tests/unit/kafka_api/handlers/test_delete_records\.py",
    ),
    # ListQueueTags; DeleteMessageBatch where messages move.
    Place(
        "An SQS action",
        f"{_MESSAGES}/<topic>.py",
        "<Action>Request",
        (
            Cut(
                f"{_MESSAGES}/sharing.py",
                r"^class ListQueueTagsRequest\(Shape\):\n    queue_url: str\n\n\n",
            ),
        ),
        _SQS,
        r"cannot import name 'ListQueueTagsRequest' from 'duolog\.wire\.sqs\.messages\.sharing'",
    ),
    Place(
        "An SQS action",
        f"{_MESSAGES}/__init__.py",
        "__all__",
        (Cut(f"{_MESSAGES}/__init__.py", r'^    "?ListQueueTagsRequest"?,\n'),),
        _SQS,
        r"module 'duolog\.wire\.sqs\.messages' has no attribute 'ListQueueTagsRequest'",
    ),
    Place(
        "An SQS action",
        "src/duolog/wire/sqs/apis.py",
        "_ACTIONS",
        (Cut("src/duolog/wire/sqs/apis.py", r'^    Action\("ListQueueTags", .*\n'),),
        _SQS,
        r'add `Action\("ListQueueTags", .* to _ACTIONS in src/duolog/wire/sqs/apis\.py',
    ),
    Place(
        "An SQS action",
        "src/duolog/sqs_api/actions/<action>.py",
        "handle",
        (Cut("src/duolog/sqs_api/actions/list_queue_tags.py"),),
        _SQS,
        r"cannot import name 'list_queue_tags' from 'duolog\.sqs_api\.actions'",
    ),
    Place(
        "An SQS action",
        "src/duolog/sqs_api/dispatch.py",
        "WAITING",
        (
            Cut("src/duolog/sqs_api/dispatch.py", r"^    list_queue_tags,\n"),
            Cut("src/duolog/sqs_api/dispatch.py", r'^    "ListQueueTags": .*\n'),
        ),
        _SQS,
        r'add `"ListQueueTags": .* to WAITING .* in src/duolog/sqs_api/dispatch\.py',
    ),
    Place(
        "An SQS action",
        "src/duolog/sqs_api/usage.py",
        "TALLIES",
        (Cut("src/duolog/sqs_api/usage.py", r'^    "DeleteMessageBatch": .*\n'),),
        _SQS,
        r'add `"DeleteMessageBatch": .* to TALLIES in src/duolog/sqs_api/usage\.py',
    ),
    Place(
        "An SQS action",
        "tests/unit/sqs_api/actions/test_queues.py",
        "OF_A_QUEUE",
        (Cut("tests/unit/sqs_api/actions/test_queues.py", r'^    \("ListQueueTags", .*\n'),),
        _SQS,
        r'add `\("ListQueueTags", .* to OF_A_QUEUE in tests/unit/sqs_api/actions/test_queues\.py',
    ),
    # duolog:RetainDeleted.
    Place(
        "A queue attribute",
        _ATTRIBUTES,
        "QueueConfig",
        (Cut(_ATTRIBUTES, r"^    retain_deleted_seconds: int = 0\n"),),
        _QUEUE,
        r"add the field `retain_deleted_seconds`, with its default, to QueueConfig",
    ),
    Place(
        "A queue attribute",
        _ATTRIBUTES,
        "_OUR_OWN",
        (
            Cut(
                _ATTRIBUTES,
                r'^    _seconds\(\n        "duolog:RetainDeleted",\n(?:        .*\n)*    \),\n',
            ),
        ),
        _QUEUE,
        r"declare the attribute whose field is `retain_deleted_seconds` in _OF_SQS or _OUR_OWN",
    ),
    Place(
        "A queue attribute",
        "src/duolog/broker",
        "config.<field>",
        (Cut("src/duolog/broker/**/*.py", r"\bconfig\.retain_deleted_seconds\b", "(0)"),),
        _QUEUE,
        r"nothing in src/duolog reads `config\.retain_deleted_seconds`",
    ),
    Place(
        "A queue attribute",
        "tests/unit/config/test_queue.py",
        "BOUNDS",
        (
            Cut(
                "tests/unit/config/test_queue.py",
                r'^    "duolog:RetainDeleted": \(0, 1_209_600\),\n',
            ),
        ),
        _QUEUE,
        r'add `"duolog:RetainDeleted": .* to BOUNDS in tests/unit/config/test_queue\.py',
    ),
    Place(
        "A queue attribute",
        "docs/queues.md",
        "Attributes of our own",
        (Cut("docs/queues.md", r"^\| `duolog:RetainDeleted` \|.*\n"),),
        "pytest tests/style/test_queues_page.py",
        r"add a row `\| `duolog:RetainDeleted` \|",
    ),
    Place(
        "A queue attribute",
        "docs/settings.md",
        "",
        (Cut("docs/settings.md", r"^\| `duolog:RetainDeleted` \|.*\n"),),
        _SETTINGS,
        r"run `\.venv/bin/duolog config reference > docs/settings\.md`",
    ),
    # sqs.purge.interval.seconds.
    Place(
        "A setting",
        "src/duolog/config/node.py",
        "NODE_GROUPS",
        (
            Cut(
                "src/duolog/config/node.py",
                r'^ +in_seconds\(\s*"sqs\.purge\.interval\.seconds"[^)]*\),\n',
            ),
        ),
        _SETTINGS,
        r"reads the setting `sqs\.purge\.interval\.seconds`: declare it in NODE_GROUPS",
    ),
    Place(
        "A setting",
        "src/duolog",
        "settings.integer",
        (
            Cut(
                "src/duolog/broker/queues/queues.py",
                r'self\.broker\.settings\.integer\("sqs\.purge\.interval\.seconds"\)',
                "60",
            ),
        ),
        _SETTINGS,
        r"nothing in src/duolog reads the setting `sqs\.purge\.interval\.seconds`",
    ),
    Place(
        "A setting",
        "docs/settings.md",
        "",
        (Cut("docs/settings.md", r"^\| `sqs\.purge\.interval\.seconds` \|.*\n"),),
        _SETTINGS,
        r"run `\.venv/bin/duolog config reference > docs/settings\.md`",
    ),
    # queue replay.
    Place(
        "A command",
        "src/duolog/cli/<noun>s/commands.py",
        "app",
        (
            Cut(
                "src/duolog/cli/queues/commands.py",
                r"^@app\.command\((?:[^\n]*)\)\n(?=(?:async )?def replay\()",
            ),
        ),
        _PAGE,
        r"docs/cli\.md has `queue replay`, which nothing registers: add a function",
    ),
    Place(
        "A command",
        "docs/cli.md",
        "Commands",
        (Cut("docs/cli.md", r"^\| `queue replay .*\n"),),
        _PAGE,
        r"add a row `\| `queue replay` \| .* to the table Commands of docs/cli\.md",
    ),
    # duolog_pushes_in_progress.
    Place(
        "A metric",
        "src/duolog/app/queue_gauges.py",
        "register_queue_gauges",
        (
            Cut(
                "src/duolog/app/queue_gauges.py",
                r'^    metrics\.gauge\(\n +"duolog_pushes_in_progress",\n(        .*\n)*    \)\n',
            ),
        ),
        _METRICS,
        r"docs/metrics\.md has `duolog_pushes_in_progress`, which no node exposes: register it",
    ),
    Place(
        "A metric",
        "docs/metrics.md",
        "",
        (Cut("docs/metrics.md", r"^\| `duolog_pushes_in_progress` \|.*\n"),),
        _METRICS,
        r"add a row `\| `duolog_pushes_in_progress` \| gauge \|",
    ),
    # load.
    Place(
        "A pipeline",
        "src/duolog_pipelines/<name>/pipeline.py",
        "PIPELINE",
        (Cut("src/duolog_pipelines/load/pipeline.py", r"^PIPELINE: Pipeline = .*\n"),),
        _PIPELINES,
        r"end src/duolog_pipelines/load/pipeline\.py with `PIPELINE: Pipeline = ",
    ),
    Place(
        "A pipeline",
        "src/duolog_pipelines/registry.py",
        "MODULES",
        (Cut("src/duolog_pipelines/registry.py", r'^    "load": .*\n'),),
        _PIPELINES,
        r'add `"<name>": "duolog_pipelines\.load\.pipeline",` to MODULES in src/duolog_pipelines/',
    ),
    Place(
        "A pipeline",
        "docs/pipelines.md",
        "## <name>",
        (Cut("docs/pipelines.md", r"^## load$", "## The load"),),
        _PIPELINES,
        r"add the section `## load` to docs/pipelines\.md",
    ),
    Place(
        "A pipeline",
        "docs/pipelines.md",
        "### Options of <name>",
        (Cut("docs/pipelines.md", r"^### Options of load$", "### Options"),),
        _PIPELINES,
        r"add the section `### Options of load` to docs/pipelines\.md",
    ),
    Place(
        "A pipeline",
        "docs/pipelines.md",
        "### The table <table>",
        (Cut("docs/pipelines.md", r"^### The table load_growth$", "### Growth"),),
        _PIPELINES,
        r"add the section `### The table load_growth` to docs/pipelines\.md",
    ),
    # NoReassignmentInProgress; what only queues know is in queue_errors.py.
    Place(
        "A refusal",
        "src/duolog/model/errors.py",
        "",
        (
            Cut(
                "src/duolog/model/errors.py",
                r'^class NoReassignmentInProgress\(Refusal\):\n    """.*"""\n\n\n',
            ),
        ),
        _REFUSALS,
        r"cannot import name 'NoReassignmentInProgress' from 'duolog\.model\.errors'",
    ),
    Place(
        "A refusal",
        "src/duolog/kafka_api/errors.py",
        "CODES",
        (Cut("src/duolog/kafka_api/errors.py", r"^    refused\.NoReassignmentInProgress: .*\n"),),
        _REFUSALS,
        r"add `refused\.NoReassignmentInProgress: .* to CODES in src/duolog/kafka_api/errors\.py",
    ),
    Place(
        "A refusal",
        "src/duolog/sqs_api/faults.py",
        "NAMES",
        (Cut("src/duolog/sqs_api/faults.py", r"^    refused\.NoReassignmentInProgress: .*\n"),),
        _REFUSALS,
        r"NoReassignmentInProgress to NAMES in src/duolog/sqs_api/faults\.py",
    ),
    # QUEUE_FIND.
    Place(
        "A request between nodes",
        "src/duolog/wire/peer/kinds.py",
        "PeerKind",
        (Cut("src/duolog/wire/peer/kinds.py", r"^    QUEUE_FIND = 26\n"),),
        "mypy src/duolog/peer_api/handlers/queues.py",
        r'"type\[PeerKind\]" has no attribute "QUEUE_FIND"',
    ),
    Place(
        "A request between nodes",
        f"{_ROUTING}/requests.py",
        "<Action>Asked",
        (
            Cut(
                f"{_ROUTING}/requests.py",
                r"^class FindAsked\(.*\):\n    message_id: str\n\n\n",
            ),
        ),
        f"mypy {_ROUTING}/links.py",
        r'has no attribute "FindAsked"',
    ),
    Place(
        "A request between nodes",
        f"{_ROUTING}/links.py",
        "RemoteQueue",
        (
            Cut(
                f"{_ROUTING}/links.py",
                r"^    async def find\(.*\) -> list\[Peeked \| None\]:\n(        .*\n)+\n",
            ),
        ),
        "mypy src/duolog/broker/queues/registry.py",
        r'"RemoteQueue" is missing following "QueueLink" protocol member:\n.* find\b',
    ),
    Place(
        "A request between nodes",
        f"{_ROUTING}/served_queue.py",
        "ServedQueue",
        (
            Cut(
                f"{_ROUTING}/served_queue.py",
                r"^    async def find\(.*\) -> list\[Peeked \| None\]:\n(        .*\n)+\n",
            ),
        ),
        "mypy src/duolog/broker/queues/registry.py",
        r'"ServedQueue" is missing following "QueueLink" protocol member:\n.* find\b',
    ),
    Place(
        "A request between nodes",
        "src/duolog/peer_api/handlers/queues.py",
        "_ANSWERS",
        (Cut("src/duolog/peer_api/handlers/queues.py", r"^    PeerKind\.QUEUE_FIND: .*\n"),),
        "pytest tests/unit/peer_api/test_kinds.py",
        r"add `PeerKind\.QUEUE_FIND: .* to _ANSWERS in src/duolog/peer_api/handlers/queues\.py",
    ),
)
