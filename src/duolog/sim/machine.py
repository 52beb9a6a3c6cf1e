"""A machine, with its disk and clock, and the process that runs on it, if any."""

from collections.abc import Callable

from duolog.sim.clock import SimClock
from duolog.sim.cpu import Cpu
from duolog.sim.device import Device
from duolog.sim.disk import SimDisk
from duolog.sim.host import Host
from duolog.sim.loop import ProcessLoop, new_loop
from duolog.sim.network import Network, ProcessNetwork
from duolog.sim.store import SimStore
from duolog.sim.store_server import StoreServer
from duolog.sim.world import World


class Process:
    """One life of a program, with the clock, disk, network and store that it sees."""

    def __init__(self, machine: "Machine", life: int) -> None:
        world, network, name = machine.world, machine.network, machine.name
        self.machine = machine
        self.life = life
        self.loop = new_loop(world, f"{name}.{life}")
        self.loop.cpu = machine.clock.cpu = Cpu(world, self.loop, machine.host)
        self.clock = machine.clock
        self.disk = SimDisk(machine.device, self.loop, machine.power_off)
        self.network = ProcessNetwork(network, name, self.loop)
        random = world.seed.random(f"store {name} {life}")
        self.store = SimStore(machine.store, network.links, name, self.loop, random)
        # The loop of the thread that renews the lease, with a connection of its own.
        self.lease_loop = new_loop(world, f"{name}.{life}.lease")
        self.lease_loop.cpu = Cpu(world, self.lease_loop, machine.host, self.loop)
        random = world.seed.random(f"lease {name} {life}")
        self.lease_store = SimStore(machine.store, network.links, name, self.lease_loop, random)
        self.random = world.seed.random(f"process {name} {life}")
        self.new_id = world.seed.new_id(f"ids {name} {life}")

    def pause(self) -> None:
        """Simulate SIGSTOP."""
        self.loop.pause()
        self.lease_loop.pause()

    def resume(self) -> None:
        self.loop.resume()
        self.lease_loop.resume()

    def end(self) -> None:
        self.loop.end()
        self.lease_loop.end()


class Machine:
    def __init__(
        self,
        world: World,
        network: Network,
        store: StoreServer,
        name: str,
        host: Host | None = None,
    ) -> None:
        """Without a host, all work is free."""
        self.host = host
        self.world = world
        self.network = network
        self.store = store
        self.name = name
        self.clock = SimClock(world)
        self.device = Device(world.seed.random(f"disk {name}"))
        self.process: Process | None = None
        self.on_ended: Callable[[], None] = lambda: None
        """Called when the process has ended, in whichever way."""
        self._lives = 0

    @property
    def is_running(self) -> bool:
        return self.process is not None

    def start(self) -> Process:
        """Start a new process; the machine is switched on if it was off."""
        assert self.process is None
        self.network.power_on(self.name)
        self._lives += 1
        self.process = Process(self, self._lives)
        return self.process

    def kill(self) -> None:
        """Simulate SIGKILL: the page cache stays, and the kernel resets the connections."""
        if self.process is not None:
            loop = self._end()
            self.network.end_process(loop)
            self.on_ended()

    def power_off(self) -> None:
        """Cut the power: unsynced data is lost, and no peer is told."""
        if self.process is not None:
            loop = self._end()
            self.network.power_off(self.name, loop)
            self.device.crash()
            self.on_ended()

    def _end(self) -> ProcessLoop:
        process, self.process = self.process, None
        assert process is not None
        process.end()
        return process.loop
