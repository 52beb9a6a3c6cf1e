"""A node's two HTTP doors, which answer what a test tells them to."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

URL = "http://here/000000000000/"
ARN = "arn:aws:sqs:us-east-1:000000000000:"

Answer = Callable[[dict[str, Any]], Any]
"""Of a request's JSON, that of the answer; a tuple is a status and the JSON."""


def refusal(name: str, message: str = "It is not so.") -> tuple[int, dict[str, str]]:
    return 400, {"__type": f"com.amazonaws.sqs#{name}", "message": message}


class DoorServer:
    """Both doors on one port: SQS actions are keyed by name, admin pages by method and path."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {
            "GetQueueUrl": lambda asked: {"QueueUrl": URL + asked["QueueName"]},
            "GetQueueAttributes": lambda asked: {
                "Attributes": {"QueueArn": ARN + asked["QueueUrl"].removeprefix(URL)}
            },
            "ListQueues": lambda asked: {"QueueUrls": []},
            "GET /queues": lambda asked: {"queues": []},
        }
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def asked_for(self, action: str) -> list[dict[str, Any]]:
        return [request for name, request in self.asked if name == action]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        doors = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(f"GET {self.path}")

            def do_POST(self) -> None:
                target = self.headers.get("x-amz-target", "")
                self._answer(target.removeprefix("AmazonSQS.") or f"POST {self.path}")

            def _answer(self, name: str) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                asked = json.loads(body or b"{}")
                doors.asked.append((name, asked))
                doors.headers.append({key.lower(): value for key, value in self.headers.items()})
                answer = doors.answers[name](asked)
                status, content = answer if isinstance(answer, tuple) else (200, answer)
                encoded = b"" if content is None else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(encoded)))
                self.end_headers()
                self.wfile.write(encoded)

            def log_message(self, *arguments: object) -> None:
                """Tests say what they have to say by failing."""

        return Handler
