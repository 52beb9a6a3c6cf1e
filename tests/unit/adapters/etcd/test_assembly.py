from hypothesis import given
from hypothesis import strategies as st

from duolog.adapters.etcd.assembly import Assembly
from duolog.adapters.etcd.messages import Event, Header, KeyValue, WatchAnswer


def event(revision: int, key: bytes = b"k") -> Event:
    return Event(KeyValue(key, mod_revision=revision))


def answer(*events: Event, fragment: bool = False, revision: int = 0) -> WatchAnswer:
    return WatchAnswer(Header("1", revision), events=list(events), fragment=fragment)


def taken(assembly: Assembly, answered: WatchAnswer) -> list[tuple[int, int]]:
    return [(revision, len(events)) for revision, events in assembly.take(answered)]


def test_a_message_of_several_revisions_is_taken_apart():
    assembly = Assembly(1)
    assert taken(assembly, answer(event(3), event(3, b"l"), event(5))) == [(3, 2), (5, 1)]
    assert assembly.next_revision == 6


def test_a_revision_in_fragments_is_put_together():
    assembly = Assembly(1)
    assert taken(assembly, answer(event(3), event(4), fragment=True)) == [(3, 1)]
    assert taken(assembly, answer(event(4), fragment=True)) == []
    assert assembly.next_revision == 4
    assert taken(assembly, answer(event(4), event(5))) == [(4, 3), (5, 1)]


def test_after_a_break_the_incomplete_revision_comes_again_whole():
    assembly = Assembly(1)
    taken(assembly, answer(event(3), event(4), fragment=True))
    assembly.restart()
    assert assembly.next_revision == 4
    assert taken(assembly, answer(event(4), event(4))) == [(4, 2)]


def test_what_was_handed_out_is_not_handed_out_again():
    assembly = Assembly(3)
    assert taken(assembly, answer(event(2), event(3))) == [(3, 1)]
    assert taken(assembly, answer(event(3), event(4))) == [(4, 1)]


def test_a_report_of_progress_moves_the_place_to_go_on_from():
    assembly = Assembly(3)
    assert taken(assembly, answer(revision=90)) == []
    assert assembly.next_revision == 91


def test_the_revision_of_a_watch_that_has_just_begun_moves_nothing():
    assembly = Assembly(3)
    created = WatchAnswer(Header("1", 90), created=True)
    assert taken(assembly, created) == []
    assert assembly.next_revision == 3


@given(
    sizes=st.lists(st.integers(1, 5), max_size=8),
    cuts=st.lists(st.integers(1, 4), max_size=40),
    breaks=st.sets(st.integers(0, 40)),
)
def test_however_events_are_cut_each_revision_comes_once_and_whole(sizes, cuts, breaks):
    """As etcd does: only fragments end within a revision, and a new stream begins where asked."""
    revisions = [at for at, size in enumerate(sizes, 1) for _ in range(size)]
    assembly, seen = Assembly(1), []
    at, sent = 0, 0
    while at < len(revisions):
        size = cuts[sent % len(cuts)] if cuts else 3
        end = min(at + size, len(revisions))
        inside = end < len(revisions) and revisions[end] == revisions[end - 1]
        seen += taken(assembly, answer(*map(event, revisions[at:end]), fragment=inside))
        at = end
        if sent in breaks:
            assembly.restart()
            rest = [n for n, each in enumerate(revisions) if each >= assembly.next_revision]
            at = rest[0] if rest else len(revisions)
        sent += 1
    assert seen == list(enumerate(sizes, 1))
