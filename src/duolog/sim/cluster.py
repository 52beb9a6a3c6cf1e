"""The machines of a simulated cluster: nodes that come and go, a store, and clients."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from duolog.broker.partition import Partition
from duolog.sim.host import Host
from duolog.sim.links import Links
from duolog.sim.machine import Machine, Process
from duolog.sim.network import Network
from duolog.sim.node import SimNode
from duolog.sim.store_server import StoreServer
from duolog.sim.world import NS_PER_S, World

T = TypeVar("T")

ADDRESS = "127.1.0.{}"
"""A node's address, by its number. On loopback, so that nodes need no certificates and clients no
credentials."""
CLIENT = "127.1.1.1"
RESTART_SECONDS = 1.0
"""Delay after which a node whose process ended by itself is started again."""


class Cluster:
    def __init__(self, world: World, size: int, host: Host | None = None) -> None:
        self.world = world
        self.host = host
        self.links = Links(world.seed.random("links"))
        self.network = Network(world, self.links)
        self.store = StoreServer(world)
        self.numbers = range(1, size + 1)
        self.machines = [self._machine(ADDRESS.format(number), host) for number in self.numbers]
        if size == 1:
            # A gap among unsynced writes looks like damage to synced ones, and a lone node has no
            # replica to repair it from.
            self.machines[0].device.keeps_order = True
        self.client_process = self._machine(CLIENT).start()
        self.nodes: dict[int, SimNode] = {}
        """Nodes whose process is running, by number."""
        self._is_held_down: dict[int, None] = {}
        self.restarts = 0
        self.on_turn: Callable[[int, int], None] | None = None
        """Called with a node and the CPU time of a turn of its loop."""

    def _machine(self, name: str, host: Host | None = None) -> Machine:
        return Machine(self.world, self.network, self.store, name, host)

    @property
    def names(self) -> list[str]:
        return [machine.name for machine in self.machines]

    def machine(self, number: int) -> Machine:
        return self.machines[number - 1]

    def start(self, number: int) -> None:
        machine = self.machine(number)
        self._is_held_down.pop(number, None)
        if machine.is_running:
            return
        self.restarts += 1
        process = machine.start()
        if self.on_turn is not None:
            process.loop.cpu.on_turn = partial(self.on_turn, number)
        machine.on_ended = lambda: self._ended(number)
        self.nodes[number] = node = SimNode(process, number, is_only_node=len(self.machines) == 1)
        main = process.loop.create_task(node.main())
        main.add_done_callback(lambda task: self._returned(number, process, task))

    def kill(self, number: int) -> None:
        self._is_held_down[number] = None
        self.machine(number).kill()

    def stop(self, number: int) -> None:
        """Simulate SIGTERM: the node shuts down in an orderly way."""
        self._is_held_down[number] = None
        node = self.nodes.get(number)
        if node is not None and not node.process.loop.is_held:
            node.stop()

    def power_off(self, number: int) -> None:
        self._is_held_down[number] = None
        self.machine(number).power_off()

    def hold_down(self, number: int) -> None:
        """Keep the node down once its process ends, until `start` is called."""
        self._is_held_down[number] = None

    def wipe(self, number: int) -> None:
        """Power the machine off and replace its disk by an empty one."""
        self.power_off(number)
        self.machine(number).device.wipe()

    def _ended(self, number: int) -> None:
        self.nodes.pop(number, None)
        if number not in self._is_held_down:
            self.world.after(int(RESTART_SECONDS * NS_PER_S), self._start_again, number)

    def _start_again(self, number: int) -> None:
        if number not in self._is_held_down:
            self.start(number)

    def _returned(self, number: int, process: Process, task: "asyncio.Task[int]") -> None:
        """Reap the process, whose main task ended by itself, for example because its disk
        failed."""
        error = task.exception()
        if error is not None and not SimNode.is_expected(error):
            self.world.report(f"{process.loop.name} ended: {error!r}", error)
        self.world.ground.call_soon(self._reap, number, process)

    def _reap(self, number: int, process: Process) -> None:
        machine = self.machine(number)
        if machine.process is process:
            machine.kill()

    def partitions(self, number: int) -> list[Partition]:
        """Partitions that a node holds; none while it is not running."""
        node = self.nodes.get(number)
        return [] if node is None or node.parts is None else [*node.parts.broker.partitions()]

    async def as_client(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work in the clients' process; awaited from the world's own loop."""
        task = self.client_process.loop.create_task(work)
        done = asyncio.Event()
        task.add_done_callback(lambda _: done.set())
        await done.wait()
        return task.result()
