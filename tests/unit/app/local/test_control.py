"""Orders reach a local cluster wherever its directory is."""

from pathlib import Path

import pytest

from duolog.app.local.control import NotRunning, Order, Outcome, give_order, serve_control


async def obey(order: Order) -> Outcome:
    return Outcome(True, f"{order.verb} {order.node}")


@pytest.mark.parametrize("name", ["here", "/".join(["a-long-name-of-a-folder"] * 9)])
async def test_an_order_is_answered_however_long_the_path_is(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    directory.mkdir(parents=True)
    server = await serve_control(directory, obey)
    assert await give_order(directory, Order("kill", 2)) == Outcome(True, "kill 2")
    assert (directory / "control.sock").stat().st_mode & 0o777 == 0o600
    server.close()


async def test_where_no_cluster_runs_nobody_takes_orders(tmp_path: Path) -> None:
    with pytest.raises(NotRunning):
        await give_order(tmp_path / "nowhere", Order("down"))
