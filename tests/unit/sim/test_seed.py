"""A seed gives each concern its own chance, the same each time."""

from duolog.sim.seed import Seed


def test_concerns_have_chances_of_their_own():
    assert Seed(1).random("disk").random() == Seed(1).random("disk").random()
    assert Seed(1).random("disk").random() != Seed(1).random("net").random()
    assert Seed(1).random("disk").random() != Seed(2).random("disk").random()


def test_ids_are_well_formed_and_differ():
    new_id = Seed(1).new_id("topics")
    first, second = new_id(), new_id()
    assert first != second
    assert first.version == 4
    assert Seed(1).new_id("topics")() == first
