"""The Kafka door: handlers, limits and the periodic sweep that its connections share."""

import asyncio
from collections.abc import Callable

from duolog.broker.broker import Broker
from duolog.core.fetch_sessions import FetchSessions
from duolog.kafka_api.connection import Connection
from duolog.kafka_api.dispatch import Dispatch
from duolog.kafka_api.handlers.fetch import FetchHandler
from duolog.kafka_api.handlers.produce import ProduceHandler
from duolog.kafka_api.receive_buffer import ReceiveBudget
from duolog.observe.metrics import Metrics
from duolog.ports.transport import Transport
from duolog.wire.kafka.fetch import Topic

PROTOCOL = "kafka"
SWEEP_SECONDS = 1.0
DRAIN_POLL_SECONDS = 0.02


class KafkaDoor:
    def __init__(self, broker: Broker, metrics: Metrics, new_session_id: Callable[[], int]) -> None:
        settings = broker.settings
        self._loop = asyncio.get_running_loop()
        self.clock = broker.clock
        self.liveness = broker.liveness
        self.request_bytes_max = settings.integer("request.bytes.max")
        self.backlog_bytes_max = settings.integer("response.backlog.bytes.max")
        self.receive_budget = ReceiveBudget(settings.integer("receive.buffer.bytes.total.max"))
        self.dispatch = Dispatch(broker, metrics)
        self.produce = ProduceHandler(broker, self.clock, metrics.request(PROTOCOL, "produce"))
        self.fetch = FetchHandler(
            broker,
            self.clock,
            FetchSessions[Topic](settings.integer("fetch.sessions.max"), new_session_id),
            metrics.request(PROTOCOL, "fetch"),
            bytes_max=settings.integer("fetch.bytes.max"),
            loop=self._loop,
        )
        self._idle_ms_max = settings.integer("connection.idle.ms.max")
        self._frame_ms_max = settings.integer("frame.receive.ms.max")
        self._connections: dict[Connection, None] = {}
        self._to_resume: dict[Connection, None] = {}
        self._sweeper: asyncio.Task[None] | None = None
        broker.flusher.after_sync.append(self.resume)

    def new_session(self, transport: Transport) -> Connection:
        connection = Connection(self, transport)
        self._connections[connection] = None
        return connection

    def forget(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self._to_resume.pop(connection, None)

    def serve_soon(self, connection: Connection) -> None:
        """Schedule the connection to send after this event, so that all answers released by one
        fsync leave in one write per connection."""
        if not self._to_resume:
            self._loop.call_soon(self.resume)
        self._to_resume[connection] = None

    def resume(self) -> None:
        """Let all scheduled connections send."""
        connections, self._to_resume = self._to_resume, {}
        for connection in connections:
            connection.resume()

    def start(self) -> None:
        self._sweeper = asyncio.create_task(self._sweep())

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now_ms = self.clock.monotonic_ms()
            for connection in tuple(self._connections):
                connection.sweep(
                    now_ms, idle_ms_max=self._idle_ms_max, frame_ms_max=self._frame_ms_max
                )

    async def drain(self, seconds_max: float) -> None:
        """Close every connection once it is owed nothing; return after `seconds_max` at the
        latest."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        deadline_ms = self.clock.monotonic_ms() + int(seconds_max * 1000)
        while self._connections and self.clock.monotonic_ms() < deadline_ms:
            for connection in tuple(self._connections):
                connection.close_when_answered()
            await asyncio.sleep(DRAIN_POLL_SECONDS)
