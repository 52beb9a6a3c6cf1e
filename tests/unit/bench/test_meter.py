import sys
import time
from pathlib import Path

from bench import processes
from bench.meter import Meter, machine_busy_seconds

BUSY_SECONDS = 0.3


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_the_machine_is_at_least_as_busy_as_this_process() -> None:
    before = machine_busy_seconds()
    burn(BUSY_SECONDS)
    assert machine_busy_seconds() - before >= BUSY_SECONDS - 0.1


def test_what_this_process_burns_is_somebody_else_s_unless_it_is_the_load(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "import time; time.sleep(60)"]
    with processes.spawn("idle", argv, log_path=tmp_path / "log") as server:
        meter = Meter(server)
        burn(BUSY_SECONDS)
        noise = meter.read(load_cpu_seconds=0.0).others_cores
        load = meter.read(load_cpu_seconds=BUSY_SECONDS).others_cores
    assert noise > 0.2
    assert load < noise
