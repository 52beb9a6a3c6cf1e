"""Leadership that goes away and comes back, while nothing is sent: what was read is kept.

A node that leads again a moment later has all that it had read before. It reads what others have
written meanwhile, which is next to nothing, not everything since the last snapshot.
"""

import asyncio

from duolog.sim.cluster import Cluster
from duolog.sim.faults.schedule import Faults
from duolog.sim.oracle.verdict import Verdict
from duolog.sim.watch import Watch

HAND_OVER = "hand-over"
FROZEN_SECONDS = 4.0
"""Longer than a lease."""
RETURN_SECONDS_MAX = 60.0
OPENING_SECONDS = 10.0
LOOK_SECONDS = 0.2
STEPS_MAX = 110
"""Steps of long work that the node may take until it leads again. Some sixty are for what else
happens: changes of the catalog, and what the node wrote about groups itself and did not read."""


async def hand_over(cluster: Cluster, watch: Watch, verdict: Verdict, faults: Faults) -> None:
    """Freeze the node that leads most until its lease has ended, and wait until it leads again."""
    await watch.until_in_sync()
    number = max(cluster.numbers, key=lambda each: len(watch.states.preferably_led_by(each)))
    process, led = cluster.machine(number).process, watch.states.preferably_led_by(number)
    if process is None:
        return
    faults.wounds.begin([number])
    process.pause()
    await asyncio.sleep(FROZEN_SECONDS)
    process.resume()
    steps = process.loop.cpu.steps
    waited = 0.0
    while not led <= watch.states.preferably_led_by(number) and waited < RETURN_SECONDS_MAX:
        await asyncio.sleep(LOOK_SECONDS)
        waited += LOOK_SECONDS
    await asyncio.sleep(OPENING_SECONDS)
    faults.wounds.end([number])
    taken = process.loop.cpu.steps - steps
    if taken > STEPS_MAX:
        verdict.violated("what was read is kept", f"node {number} took {taken} steps to lead again")
