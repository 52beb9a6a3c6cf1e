import pytest
from tests.fakes.group_driver import Driver


@pytest.fixture
def driver() -> Driver:
    return Driver()
