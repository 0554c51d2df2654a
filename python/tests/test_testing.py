from __future__ import annotations

from typing import List

import pytest

from contextrelay import ContextRelay, RelayUnreachableError, RequestReport
from contextrelay.testing import memory_relay

from .conftest import RELAY


def test_a_relay_for_tests_is_a_whole_and_empty_relay() -> None:
    with memory_relay(RELAY) as relay:
        assert relay.pull(relay.push("one\ntwo"), lines="2") == "two"
        assert relay.channels()["channels"] == []
    with pytest.raises(RelayUnreachableError):
        relay.push("x")
    with (
        pytest.raises(RelayUnreachableError, match="no program 'no-such-relay'"),
        memory_relay(["no-such-relay"]),
    ):
        pass


def test_on_request_tells_each_request(server) -> None:
    seen: List[RequestReport] = []
    relay = ContextRelay(server.url, on_request=seen.append)
    relay.push("x")
    assert [(each.method, each.path, each.attempt, each.status) for each in seen] == [
        ("POST", "/push", 0, 200)
    ]
    broken = ContextRelay("http://127.0.0.1:9", retries=1, on_request=seen.append)
    with pytest.raises(RelayUnreachableError):
        broken.push("x")
    assert [(each.attempt, type(each.error)) for each in seen[1:]] == [
        (n, RelayUnreachableError) for n in (0, 1)
    ]
