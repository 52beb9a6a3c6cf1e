"""Supervisor of a local cluster: starts its processes, obeys orders, and stops all at the end."""

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from duolog.app.data_directory import DataDirectory, StartRefused
from duolog.app.local.child import Child
from duolog.app.local.commands import etcd_command, node_command
from duolog.app.local.control import SOCKET_NAME, Order, Outcome, serve_control
from duolog.app.local.layout import Layout, LocalNode
from duolog.app.ready_file import ready_file

START_SECONDS_MAX = 60.0
_POLL_SECONDS = 0.05
_CONNECT_SECONDS_MAX = 0.2

Tell = Callable[[str], None]


class Supervisor:
    def __init__(
        self, directory: Path, layout: Layout, settings: Sequence[str], tell: Tell
    ) -> None:
        self._directory = directory
        self._layout = layout
        self._tell = tell
        self._etcd = {
            member: Child(
                f"etcd {member.name}",
                etcd_command(layout, member, directory),
                directory / f"etcd-{member.name}.log",
            )
            for member in layout.etcd
        }
        self._ready_files = {
            node.id: directory / f"{node.data_name}.ready.json" for node in layout.nodes
        }
        self._nodes = {
            node.id: Child(
                f"node {node.id}",
                node_command(layout, node, directory, self._ready_files[node.id], settings),
                directory / f"{node.data_name}.log",
            )
            for node in layout.nodes
        }
        self._expected: set[int] = set()
        """Nodes that should be running; the end of one is reported."""
        self._stopped = asyncio.Event()
        self._watchers: set[asyncio.Task[None]] = set()

    async def run(self, announce: Callable[[dict[str, Any]], None]) -> None:
        """Run until SIGTERM, SIGINT or an order. `announce` is called once all nodes serve."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopped.set)
        async with AsyncExitStack() as cleanup:
            for child in self._etcd.values():
                cleanup.push_async_callback(child.stop)
                await child.start()
                self._watch(child, self._etcd_ended)
            for member, child in self._etcd.items():
                await self._until(partial(_accepts, member.client), child)
            cleanup.push_async_callback(self._stop_nodes)
            for node in self._layout.nodes:
                await self._start(node)
            for node in self._layout.nodes:
                await self._until_ready(node)
            control = await serve_control(self._directory, self.obey)
            cleanup.callback((self._directory / SOCKET_NAME).unlink, missing_ok=True)
            cleanup.callback(control.close)
            announce(self.described())
            await self._stopped.wait()
            self._tell("stopping")

    def described(self) -> dict[str, Any]:
        return {
            "nodes": [
                {
                    "id": node.id,
                    "pid": self._nodes[node.id].pid,
                    "kafka": node.kafka,
                    "sqs": node.sqs,
                    "admin": node.admin,
                }
                for node in self._layout.nodes
            ],
            "etcd": [member.client for member in self._layout.etcd],
        }

    async def obey(self, order: Order) -> Outcome:
        if order.verb == "down":
            self._stopped.set()
            return Outcome(True, "The cluster is being stopped.")
        node = self._layout.node(order.node)
        if node is None:
            return Outcome(False, f"There is no node {order.node}. Run `duolog cluster status`.")
        child = self._nodes[node.id]
        if order.verb == "kill":
            if not child.is_running:
                return Outcome(False, f"Node {node.id} does not run. Start it with `start`.")
            self._expected.discard(node.id)
            child.kill()
            await child.ended()
            return Outcome(True, f"Node {node.id} was killed.")
        if order.verb == "start":
            if child.is_running:
                return Outcome(False, f"Node {node.id} runs already.")
            try:
                await self._start(node)
                await self._until_ready(node)
            except StartRefused as refusal:
                return Outcome(False, str(refusal))
            return Outcome(True, f"Node {node.id} serves.")
        return Outcome(False, f"There is no order '{order.verb}'. Upgrade this command.")

    async def _start(self, node: LocalNode) -> None:
        child = self._nodes[node.id]
        self._ready_files[node.id].unlink(missing_ok=True)
        await child.start()
        self._expected.add(node.id)
        self._watch(child, partial(self._node_ended, node.id))

    def _watch(self, child: Child, ended: Callable[[Child, int], None]) -> None:
        async def watch() -> None:
            code = await child.ended()
            if not self._stopped.is_set():
                ended(child, code)

        watcher = asyncio.create_task(watch())
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    def _node_ended(self, number: int, child: Child, code: int) -> None:
        if number in self._expected:
            self._expected.discard(number)
            self._tell(
                f"{child.name} ended with code {code}; {child.log} says why."
                f" Start it again with `duolog cluster start {number}`."
            )

    def _etcd_ended(self, child: Child, code: int) -> None:
        self._tell(
            f"{child.name} ended with code {code}; {child.log} says why. Without a majority of etcd"
            " the nodes suspend themselves: stop this cluster and start it again."
        )

    async def _until_ready(self, node: LocalNode) -> None:
        await self._until(self._ready_files[node.id].exists, self._nodes[node.id])

    async def _until(self, holds: Callable[[], bool], child: Child) -> None:
        """Wait until `holds`. Raises StartRefused if the child ends or the time is up."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while not holds():
            if self._stopped.is_set():
                raise StartRefused("The cluster was told to stop before it was ready.")
            if not child.is_running or time.monotonic() > deadline:
                raise StartRefused(
                    f"{child.name} did not start; {child.log} ends with:\n{child.last_lines()}"
                )
            await asyncio.sleep(_POLL_SECONDS)

    async def _stop_nodes(self) -> None:
        self._stopped.set()
        async with asyncio.TaskGroup() as stopping:
            for child in self._nodes.values():
                stopping.create_task(child.stop())


def run_local_cluster(
    directory: Path,
    layout: Layout,
    ready_path: Path | None,
    settings: Sequence[str],
    tell: Tell,
    on_ready: Callable[[dict[str, Any]], None],
) -> None:
    """Run the cluster in the foreground until it is told to stop. Raises StartRefused."""
    lock = DataDirectory(directory)
    with ready_file(ready_path) as announce:
        lock.lock()

        def ready(described: dict[str, Any]) -> None:
            announce(described)
            on_ready(described)

        try:
            asyncio.run(Supervisor(directory, layout, settings, tell).run(ready))
        finally:
            lock.unlock()


def _accepts(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), _CONNECT_SECONDS_MAX):
        return True
    return False
