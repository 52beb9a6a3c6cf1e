"""CONTRIBUTING.md names the places of a feature, and each of them is known to be watched."""

import pytest
from tests.places.cutting import cut_texts
from tests.places.page import places_on
from tests.places.places import PLACES, Place
from tests.style.sources import ROOT


def test_the_places_on_the_page_are_those_that_are_taken_out() -> None:
    named = places_on((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    known = [(place.kind, place.path, place.name) for place in PLACES]
    assert [
        f"add to PLACES in tests/places/places.py how it is taken out: {place}"
        for place in named
        if place not in known
    ] == []
    assert [
        f"name it in CONTRIBUTING.md, under Where a feature goes: {place}"
        for place in known
        if place not in named
    ] == []
    assert named == known, "they are in another order"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.kind}: {place.name}")
def test_a_place_can_be_taken_out(place: Place) -> None:
    for cut in place.cuts:
        assert cut_texts(ROOT, cut)
    tool, *files = place.watch.split()
    assert tool in ("mypy", "pytest")
    assert all((ROOT / file).is_file() for file in files), place.watch
