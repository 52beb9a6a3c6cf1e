from duolog.core.membership.silence import LinkLook, Silence

LOOK_MS = 250


class Watcher:
    """Looks at links every 250 ms, as their node does."""

    def __init__(self) -> None:
        self.silence = Silence()
        self.now_ms = 0
        self.found: tuple[int, ...] = ()

    def watch(self, ms: int, *, heard: bool, tried: bool, node: int = 2) -> tuple[int, ...]:
        for _ in range(ms // LOOK_MS):
            self.now_ms += LOOK_MS
            self.look(LinkLook(node, self.now_ms if heard else 0.0, tried))
        return self.found

    def look(self, *links: LinkLook) -> tuple[int, ...]:
        self.found = self.silence.look(links, self.now_ms)
        return self.found


def test_a_node_that_is_tried_for_two_seconds_and_never_answers_is_unreachable() -> None:
    watcher = Watcher()
    watcher.watch(10_000, heard=True, tried=True)
    assert watcher.watch(1_750, heard=False, tried=True) == ()
    assert watcher.watch(250, heard=False, tried=True) == (2,)


def test_a_node_that_answers_is_reachable_at_once() -> None:
    watcher = Watcher()
    assert watcher.watch(5_000, heard=False, tried=True) == (2,)
    assert watcher.watch(LOOK_MS, heard=True, tried=True) == ()


def test_a_node_that_nobody_tries_is_not_unreachable() -> None:
    watcher = Watcher()
    watcher.watch(LOOK_MS, heard=True, tried=False)
    assert watcher.watch(60_000, heard=False, tried=False) == ()


def test_a_node_that_nobody_tries_any_more_is_forgotten_after_two_seconds() -> None:
    watcher = Watcher()
    assert watcher.watch(5_000, heard=False, tried=True) == (2,)
    assert watcher.watch(1_500, heard=False, tried=False) == (2,)
    assert watcher.watch(1_000, heard=False, tried=False) == ()


def test_a_node_that_answers_on_one_of_two_links_is_reachable() -> None:
    watcher = Watcher()
    for _ in range(40):
        watcher.now_ms += LOOK_MS
        assert watcher.look(LinkLook(2, 0.0, True), LinkLook(2, watcher.now_ms, True)) == ()


def test_a_long_turn_of_this_nodes_own_loop_makes_nobody_unreachable() -> None:
    watcher = Watcher()
    watcher.watch(1_000, heard=True, tried=True)
    heard_at = float(watcher.now_ms)
    watcher.now_ms += 8_000
    # What the others have answered meanwhile is read after this look.
    assert watcher.look(LinkLook(2, heard_at, True)) == ()
    assert watcher.watch(LOOK_MS, heard=True, tried=True) == ()


def test_a_node_whose_links_are_gone_is_not_remembered() -> None:
    watcher = Watcher()
    assert watcher.watch(5_000, heard=False, tried=True) == (2,)
    assert watcher.look() == ()
    assert watcher.watch(LOOK_MS, heard=False, tried=True) == ()
