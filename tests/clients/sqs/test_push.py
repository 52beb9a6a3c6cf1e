"""Queues that push, by a real node to a real HTTP server."""

import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from email.message import Message
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.harness.node import Node
from tests.harness.ports import free_port
from tests.harness.sqs import Queue, client, error_code, eventually

ASK_SECONDS_MAX = 15.0
ANSWER_SECONDS_MAX = 120.0
"""Of an endpoint that a test has forgotten; others may answer sooner."""
AT_ONCE_SECONDS_MAX = 10
"""Less than an endpoint is given to answer."""


@dataclass
class Pushed:
    path: str
    headers: Message
    text: str
    at: float = field(default_factory=time.monotonic)


class Endpoint:
    """Answers with `status`, once it may."""

    def __init__(self, port: int = 0) -> None:
        self.pushed: list[Pushed] = []
        self.status = 200
        self.location: str | None = None
        self.most_at_once = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._at_once = 0
        self._counting = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/in?queue=1"

    @property
    def texts(self) -> list[str]:
        return [pushed.text for pushed in self.pushed]

    def take(self, pushed: Pushed) -> None:
        with self._counting:
            self.pushed.append(pushed)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        self.may_answer.wait(ANSWER_SECONDS_MAX)
        with self._counting:
            self._at_once -= 1

    def close(self) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, endpoint: Endpoint, *args: Any) -> None:
        self._endpoint = endpoint
        # The node may give up waiting for the answer.
        with suppress(ConnectionError):
            super().__init__(*args)

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._endpoint.take(Pushed(self.path, self.headers, text))
        self.send_response(self._endpoint.status)
        if self._endpoint.location is not None:
            self.send_header("Location", self._endpoint.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture(scope="module")
def pushing_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with Node(tmp_path_factory.mktemp("push"), {"push.allow": "127.0.0.1"}) as node:
        yield node


@pytest.fixture
def sqs(pushing_node: Node) -> Any:
    return client(pushing_node.sqs)


def push_to(endpoint: Endpoint | None, **more: object) -> dict[str, object]:
    return {"duolog:PushEndpoint": "" if endpoint is None else endpoint.url, **more}


def outcomes(node: Node) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{node.admin}/metrics", timeout=ASK_SECONDS_MAX) as answer:
        lines = [line for line in answer.read().decode().splitlines() if "pushes_total{" in line]
    return {line.split('"')[1]: float(line.split()[-1]) for line in lines}


def test_a_message_is_posted_as_it_was_sent(
    sqs: Any, endpoint: Endpoint, pushing_node: Node
) -> None:
    before = outcomes(pushing_node)
    queue = Queue.create(sqs, **push_to(endpoint))
    attributes = {
        "colour": {"DataType": "String", "StringValue": "red"},
        "picture": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        "sly": {"DataType": "String", "StringValue": "x\r\nX-Injected: yes"},
    }
    sent = queue.send("grüße\n", MessageAttributes=attributes)
    eventually(lambda: queue.counts() == (0, 0, 0))
    (pushed,) = endpoint.pushed
    assert (pushed.path, pushed.text) == ("/in?queue=1", "grüße\n")
    headers = pushed.headers
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert headers["X-Duolog-Queue"] == queue.name
    assert headers["X-Duolog-Message-Id"] == sent["MessageId"]
    assert headers["X-Duolog-Receive-Count"] == "1"
    assert abs(int(headers["X-Duolog-Sent-Timestamp"]) / 1000 - time.time()) < 60
    assert headers["X-Duolog-Attribute-colour"] == "red"
    assert headers["X-Duolog-Attribute-picture"] == "AP8="
    assert headers["X-Duolog-Attributes-Omitted"] == "1"
    assert "X-Injected" not in headers
    assert outcomes(pushing_node) == {
        "success": before["success"] + 1,
        "failure": before["failure"],
    }


def test_a_message_that_fails_comes_again_later_and_ends_as_a_dead_letter(
    sqs: Any, endpoint: Endpoint
) -> None:
    endpoint.status = 500
    dead = Queue.create(sqs)
    policy = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 2}
    queue = Queue.create(sqs, **push_to(endpoint, RedrivePolicy=policy))
    queue.send("poison")
    assert dead.receive_one()["Body"] == "poison"
    first, second = endpoint.pushed
    assert 0.9 < second.at - first.at < AT_ONCE_SECONDS_MAX
    assert second.headers["X-Duolog-Receive-Count"] == "2"
    assert queue.counts() == (0, 0, 0)


def test_an_endpoint_that_does_not_answer_has_failed(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.may_answer.clear()
    with Node(tmp_path, {"push.allow": "127.0.0.1", "push.timeout.ms": 1_000}) as node:
        queue = Queue.create(client(node.sqs), **push_to(endpoint))
        queue.send("slow")
        eventually(lambda: len(endpoint.pushed) >= 2)
        endpoint.may_answer.set()
        first, second, *_ = endpoint.pushed
        assert second.at - first.at > 1.9
        eventually(lambda: queue.counts() == (0, 0, 0))


def test_a_redirect_is_not_followed(sqs: Any, endpoint: Endpoint) -> None:
    with closing(Endpoint()) as elsewhere:
        endpoint.status, endpoint.location = 307, elsewhere.url
        queue = Queue.create(sqs, **push_to(endpoint))
        queue.send("a")
        eventually(lambda: len(endpoint.pushed) >= 2)
        assert elsewhere.pushed == []


def test_so_many_are_pushed_at_once_and_all_arrive_once(sqs: Any, endpoint: Endpoint) -> None:
    queue = Queue.create(sqs, **push_to(endpoint, **{"duolog:PushConcurrency": 3}))
    wanted = [f"message {n}" for n in range(200)]
    queue.send_all(wanted)
    eventually(lambda: queue.counts() == (0, 0, 0))
    assert sorted(endpoint.texts) == sorted(wanted)
    assert endpoint.most_at_once <= 3


def test_a_group_is_pushed_in_order(sqs: Any, endpoint: Endpoint) -> None:
    queue = Queue.create(sqs, **push_to(endpoint, FifoQueue=True, ContentBasedDeduplication=True))
    for group in ("red", "blue"):
        queue.send_all([f"{group} {n:02d}" for n in range(20)], MessageGroupId=group)
    eventually(lambda: queue.counts() == (0, 0, 0))
    for group in ("red", "blue"):
        texts = [text for text in endpoint.texts if text.startswith(group)]
        assert texts == sorted(texts)
        assert len(texts) == 20


def test_taking_the_endpoint_away_gives_messages_back_at_once(sqs: Any, endpoint: Endpoint) -> None:
    endpoint.may_answer.clear()
    queue = Queue.create(sqs, **push_to(endpoint))
    queue.send("a")
    eventually(lambda: endpoint.pushed)
    queue.set(**push_to(None))
    assert queue.receive_one(WaitTimeSeconds=AT_ONCE_SECONDS_MAX)["Body"] == "a"
    assert "duolog:PushEndpoint" not in queue.attributes()


def test_an_address_outside_the_allow_list_is_refused(sqs: Any, endpoint: Endpoint) -> None:
    for url in ("http://169.254.169.254/latest/", "http://[::1]:80/"):
        with pytest.raises(ClientError, match=r"push\.allow") as refused:
            Queue.create(sqs, **{"duolog:PushEndpoint": url})
        assert error_code(refused.value) == "InvalidAttributeValue"
    queue = Queue.create(sqs, **push_to(endpoint))
    with pytest.raises(ClientError, match=r"push\.allow"):
        queue.set(**{"duolog:PushEndpoint": "http://10.0.0.1/"})
    assert queue.attributes()["duolog:PushEndpoint"] == endpoint.url


def test_a_name_that_leads_outside_the_allow_list_is_never_connected_to(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    """The name might have led to the network that is allowed; it does not."""
    with Node(tmp_path, {"push.allow": "192.0.2.0/24"}) as node:
        queue = Queue.create(
            client(node.sqs), **{"duolog:PushEndpoint": f"http://localhost:{endpoint.port}"}
        )
        queue.send("a")
        eventually(lambda: outcomes(node)["failure"] >= 1)
        assert endpoint.pushed == []
        assert sum(queue.counts()) == 1


def test_a_stop_releases_what_is_being_pushed_and_a_start_pushes_it(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    endpoint.may_answer.clear()
    with Node(tmp_path, {"push.allow": "127.0.0.1"}) as node:
        queue = Queue.create(client(node.sqs), **push_to(endpoint))
        queue.send("a")
        eventually(lambda: endpoint.pushed)
        node.stop()
        endpoint.may_answer.set()
        node.start()
        eventually(lambda: len(endpoint.pushed) == 2)
        assert endpoint.pushed[1].headers["X-Duolog-Receive-Count"] == "2"


def test_an_outage_costs_few_messages_a_receive_and_the_log_one_line_each_way(
    tmp_path: Path,
) -> None:
    port = free_port()
    with Node(tmp_path, {"push.allow": "127.0.0.1"}) as node:
        url = f"http://127.0.0.1:{port}/?token=secret"
        queue = Queue.create(client(node.sqs), **{"duolog:PushEndpoint": url})
        queue.send_all([str(n) for n in range(50)])
        eventually(lambda: "a push endpoint fails" in node.log_text)
        time.sleep(1)
        assert outcomes(node)["failure"] < 15
        with closing(Endpoint(port)) as endpoint:
            eventually(lambda: queue.counts() == (0, 0, 0), 60)
            assert len(endpoint.pushed) == 50
        assert node.log_text.count("a push endpoint fails") == 1
        assert node.log_text.count("a push endpoint works again") == 1
        assert "secret" not in node.log_text
