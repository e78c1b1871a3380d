"""Gives every test that asks for `broker` one of its own."""

import pytest
from ballast_broker import Broker


@pytest.fixture
def broker():
    with Broker() as running:
        yield running
