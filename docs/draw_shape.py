"""Draws docs/shape.svg, the picture at the top of README.md: `python docs/draw_shape.py`.

The picture brings its own background and both sets of colours, so that it can be read on a
light page and on a dark one.
"""

from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).with_name("shape.svg")

WIDTH, HEIGHT = 920, 380
NODE_X, NODE_WIDTH = 222, 450
DOOR_X, DOOR_WIDTH, DOOR_HEIGHT = 246, 136, 54
SQS_Y, KAFKA_Y = 92, 262
LOG_X, LOG_Y, CELL_WIDTH, CELL_HEIGHT = 428, 184, 26, 40
RIGHT_X, RIGHT_WIDTH = 706, 194

MESSAGES = ("done", "done", "done", "done", "flight", "done", "ready", "ready", "ready")
"""What has become of each message of the queue, the oldest first."""
STATES = (("done", "done", 58), ("flight", "in flight", 78), ("ready", "ready", 60))
"""Each with its word, and the room that this takes."""
GROUPS = ((3, "billing"), (7, "search"))
"""The next offset that each consumer group reads."""

STYLE = """
  text { font: 14px system-ui, "DejaVu Sans", sans-serif; fill: var(--text) }
  .strong { font-weight: 600 }
  .small { font-size: 12px; fill: var(--faint) }
  .middle { text-anchor: middle }
  .end { text-anchor: end }
  .page { fill: var(--page) }
  .box { fill: var(--box); stroke: var(--edge) }
  .door { fill: var(--door); stroke: var(--door-edge) }
  .arrow { fill: none; stroke: var(--faint); stroke-width: 1.5; marker-end: url(#head) }
  .head { fill: var(--faint) }
  .tick { stroke: var(--door-edge); stroke-width: 1.5 }
  .done { fill: var(--done); stroke: var(--page) }
  .flight { fill: var(--flight); stroke: var(--page) }
  .ready { fill: var(--ready); stroke: var(--page) }
"""
LIGHT = {
    "page": "#ffffff",
    "box": "#f5f7f9",
    "edge": "#c9d1d9",
    "door": "#e3effc",
    "door-edge": "#2f74c0",
    "text": "#1c2127",
    "faint": "#55606b",
    "done": "#d0d7de",
    "flight": "#e8a33d",
    "ready": "#4fae7b",
}
DARK = {
    "page": "#14181d",
    "box": "#1d232a",
    "edge": "#3d4650",
    "door": "#1b314b",
    "door-edge": "#63a4ea",
    "text": "#e8edf2",
    "faint": "#a3afba",
    "done": "#4a545f",
    "flight": "#d08f2c",
    "ready": "#3f9a69",
}


def colours(values: dict[str, str]) -> str:
    return "svg { " + " ".join(f"--{name}: {value};" for name, value in values.items()) + " }"


def text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str = "box") -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" class="{kind}"/>'


def arrow(path: str) -> str:
    return f'<path d="{path}" class="arrow"/>'


def labelled(x: float, y: float, width: float, lines: list[str]) -> list[str]:
    """A box with a heading and lines below it."""
    height = 26 + 18 * len(lines)
    found = [box(x, y, width, height), text(x + 14, y + 25, lines[0], "strong")]
    return found + [
        text(x + 14, y + 26 + 18 * number, line, "small")
        for number, line in enumerate(lines[1:], start=1)
    ]


def clients() -> list[str]:
    return [
        *labelled(20, 78, 178, ["SQS clients", "boto3, Celery, dramatiq,", "aws CLI"]),
        arrow(f"M198 119 H{DOOR_X - 4}"),
        *labelled(20, 248, 178, ["Kafka clients", "librdkafka, aiokafka,", "kafka-python, kcat"]),
        arrow(f"M198 289 H{DOOR_X - 4}"),
    ]


def doors() -> list[str]:
    middle = DOOR_X + DOOR_WIDTH / 2
    return [
        box(DOOR_X, SQS_Y, DOOR_WIDTH, DOOR_HEIGHT, "door"),
        text(middle, SQS_Y + 23, "SQS API", "middle strong"),
        text(middle, SQS_Y + 42, "HTTP, port 9324", "middle small"),
        box(DOOR_X, KAFKA_Y, DOOR_WIDTH, DOOR_HEIGHT, "door"),
        text(middle, KAFKA_Y + 23, "Kafka protocol", "middle strong"),
        text(middle, KAFKA_Y + 42, "TCP, port 9092", "middle small"),
    ]


def log() -> list[str]:
    """The messages, with the queue's view above them and that of the topic below."""
    found = []
    for offset, state in enumerate(MESSAGES):
        x = LOG_X + CELL_WIDTH * offset
        found += [
            f'<rect x="{x}" y="{LOG_Y}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}"'
            f' class="{state}"/>',
            text(x + CELL_WIDTH / 2, LOG_Y + 25, str(offset), "middle"),
        ]
    above = SQS_Y + DOOR_HEIGHT / 2
    below = KAFKA_Y + DOOR_HEIGHT / 2
    found += [
        arrow(f"M{DOOR_X + DOOR_WIDTH} {above:g} H{LOG_X - 6}"),
        text(LOG_X, above - 8, "as a queue", "strong"),
        text(LOG_X, above + 10, "each message on its own:", "small"),
        *key(LOG_X, above + 22),
        arrow(f"M{DOOR_X + DOOR_WIDTH} {below:g} H{LOG_X - 6}"),
        text(LOG_X, below + 6, "as a topic", "strong"),
        text(LOG_X, below + 24, "an offset for each consumer group", "small"),
        text(LOG_X - 14, LOG_Y + 25, "one log", "strong end"),
    ]
    for offset, group in GROUPS:
        x = LOG_X + CELL_WIDTH * offset
        found += [
            f'<line x1="{x}" y1="{LOG_Y + CELL_HEIGHT}" x2="{x}" y2="{LOG_Y + CELL_HEIGHT + 14}"'
            f' class="tick"/>',
            text(x, LOG_Y + CELL_HEIGHT + 28, group, "middle small"),
        ]
    return found


def key(x: float, y: float) -> list[str]:
    """What the colours of the messages mean."""
    found = []
    for state, word, width in STATES:
        found += [
            f'<rect x="{x:g}" y="{y:g}" width="12" height="12" class="{state}"/>',
            text(x + 18, y + 10.5, word, "small"),
        ]
        x += width
    return found


def neighbours() -> list[str]:
    centre = LOG_Y + CELL_HEIGHT / 2
    edge = LOG_X + CELL_WIDTH * len(MESSAGES)
    return [
        *labelled(
            RIGHT_X, 60, RIGHT_WIDTH, ["Spark", "streams, bills, audit,", "archive and replay"]
        ),
        arrow(f"M{NODE_X + NODE_WIDTH} 101 H{RIGHT_X - 4}"),
        *labelled(
            RIGHT_X,
            164,
            RIGHT_WIDTH,
            ["other nodes", "each a copy of the log;", "any one may be lost"],
        ),
        arrow(f"M{edge} {centre:g} H{RIGHT_X - 4}"),
        *labelled(
            RIGHT_X, 268, RIGHT_WIDTH, ["etcd", "who leads which partition;", "only for a cluster"]
        ),
        arrow(f"M{NODE_X + NODE_WIDTH} 309 H{RIGHT_X - 4}"),
    ]


def picture() -> str:
    parts = [
        box(0.5, 0.5, WIDTH - 1, HEIGHT - 1, "page"),
        box(NODE_X, 24, NODE_WIDTH, HEIGHT - 48),
        text(NODE_X + 18, 54, "a node: one process, a log on its disk", "strong"),
        *clients(),
        *doors(),
        *log(),
        *neighbours(),
    ]
    body = "\n".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">
<title>One log behind two doors: the SQS API and the Kafka protocol</title>
<style>
  {colours(LIGHT)}
  @media (prefers-color-scheme: dark) {{ {colours(DARK)} }}{STYLE}</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
orient="auto"><path d="M0 0 L8 4 L0 8 Z" class="head"/></marker></defs>
{body}
</svg>
"""


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
