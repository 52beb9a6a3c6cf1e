"""Every test of an action runs in both protocols."""

import pytest
from tests.unit.sqs_api.workbench import Workbench


@pytest.fixture(params=["json", "query"])
def sqs(request: pytest.FixtureRequest) -> Workbench:
    return Workbench(request.param)
