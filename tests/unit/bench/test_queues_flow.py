import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench.compiler import Tools
from bench.driver import LoadFailed
from bench.http_load import HttpShape, join_frames, split_frames
from bench.processes import Server
from bench.samples import Sample
from bench.stand import HTTP_FLOOR, Scale, Stand
from bench.workloads.queues_flow import Flow

URLS = ("http://node/0/a", "http://node/0/b")
TOOL = Path("not-run")


def server(name: str) -> Server:
    this = subprocess.Popen("true")
    this.wait()
    return Server(name, this, Path("log"), "127.0.0.1:1")


class Answers:
    """Stands for the load generator: notes what was sent, and answers as it is told to."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, list[dict[str, Any]], HttpShape]] = []
        self.messages: int | None = None
        self.captured: list[dict[str, Any]] = []

    def send(self, tool: Path, to: Server, path: Path, shape: HttpShape) -> Sample:
        frames = split_frames(path.read_bytes())
        bodies = [json.loads(frame.partition(b"\r\n\r\n")[2]) for frame in frames]
        self.sent.append((to.name, bodies, shape))
        if shape.capture is not None:
            shape.capture.write_bytes(
                join_frames([json.dumps(answer).encode() for answer in self.captured])
            )
        messages = shape.count * shape.messages if self.messages is None else self.messages
        return Sample(1.0, 0.5, requests=shape.count, messages=messages)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    answers = Answers()
    monkeypatch.setattr("bench.http_load.send", answers.send)
    return answers


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    scale = Scale(1, 1, 1.0, 1.0, 1)
    return Stand(tmp_path, Tools(TOOL, TOOL, TOOL, None), scale, print)


def received(*queues: int) -> dict[str, Any]:
    return {"Messages": [{"Body": f"{q} xxx", "ReceiptHandle": f"r{q}"} for q in queues]}


def test_messages_go_to_the_queues_in_turn(stand: Stand, answers: Answers) -> None:
    node = server("node")
    Flow(stand, node, URLS, messages=4, body_bytes=10).run("send", node)
    ((_, bodies, shape),) = answers.sent
    assert [body["QueueUrl"] for body in bodies] == list(URLS)
    assert {len(body["MessageBody"]) for body in bodies} == {10}
    assert shape.count == 4


def test_a_message_is_deleted_from_the_queue_that_its_body_names(
    stand: Stand, answers: Answers
) -> None:
    node = server("node")
    flow = Flow(stand, node, URLS, messages=2, body_bytes=10)
    answers.captured = [received(1), received(0)]
    flow.run("receive", node)
    flow.run("delete", node)
    _, bodies, _ = answers.sent[-1]
    assert bodies == [
        {"QueueUrl": URLS[1], "ReceiptHandle": "r1"},
        {"QueueUrl": URLS[0], "ReceiptHandle": "r0"},
    ]


def test_ten_messages_are_one_request(stand: Stand, answers: Answers) -> None:
    node = server("node")
    flow = Flow(stand, node, URLS[:1], messages=20, body_bytes=10, batch=10)
    answers.captured = [received(*[0] * 10)] * 2
    answers.messages = 20
    for step in ("send", "receive", "delete"):
        flow.run(step, node)
    assert {shape.count for _, _, shape in answers.sent} == {2}
    (_, sends, _), (_, receives, _), (_, deletes, _) = answers.sent
    assert len(sends[0]["Entries"]) == len(deletes[0]["Entries"]) == 10
    assert receives[0]["MaxNumberOfMessages"] == 10


def test_the_floor_gets_the_requests_that_the_node_got_and_no_answer_is_looked_at(
    stand: Stand, answers: Answers
) -> None:
    node, floor = server("node"), server(HTTP_FLOOR)
    flow = Flow(stand, node, URLS[:1], messages=1, body_bytes=10)
    answers.captured = [received(0)]
    for step in ("receive", "delete"):
        flow.run(step, node)
        flow.run(step, floor)
    requests = [bodies for _, bodies, _ in answers.sent]
    assert requests[0] == requests[1]
    assert requests[2] == requests[3]
    assert [shape.capture is None for _, _, shape in answers.sent] == [False, True, True, True]
    assert answers.sent[1][2].counted is None


def test_a_run_that_lost_messages_is_no_measurement(stand: Stand, answers: Answers) -> None:
    node = server("node")
    answers.messages = 3
    with pytest.raises(LoadFailed, match="3 messages of 4"):
        Flow(stand, node, URLS, messages=4, body_bytes=10).run("send", node)
