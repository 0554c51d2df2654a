from __future__ import annotations

import threading
import time
from queue import Queue

import pytest

from contextrelay import BadInputError, ConflictError, ContextRelay, RelayUnreachableError, generate_key

from .conftest import RelayProcess


def test_the_example_of_the_original_package_works(relay: ContextRelay, in_thread) -> None:
    collected = {}
    complete = threading.Event()

    def on_section_ready(url: str) -> None:
        collected[relay.peek(url)["section"]] = relay.pull(url)
        if len(collected) == 3:
            complete.set()

    in_thread(relay.subscribe, "report-channel", on_section_ready)
    until(lambda: any(c["name"] == "report-channel" for c in relay.channels()["channels"]) or _hello(relay))
    names = ["intro", "analysis", "conclusion"]
    threads = [
        in_thread(
            lambda name=name: relay.push(f"[{name}]", channel="report-channel", metadata={"section": name})
        )
        for name in names
    ]
    for thread in threads:
        thread.join()
    assert complete.wait(60)
    assert collected == {name: f"[{name}]" for name in names}


def _hello(relay: ContextRelay) -> bool:
    # Publishing creates the channel. Wait first, so that the subscriber has started and misses no message.
    time.sleep(1)
    relay.publish("report-channel", "hello")
    return True


def until(holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it never was"
        time.sleep(0.05)


def test_messages_are_replayed_and_then_arrive_live(relay: ContextRelay) -> None:
    first = relay.push("1", channel="a/b ü")
    with relay.messages("a/b ü", since="all") as messages:
        each = iter(messages)
        assert next(each).url == first
        second = relay.push("2", channel="a/b ü", metadata={"n": 2})
        message = next(each)
        assert (message.url, message.metadata) == (second, {"n": 2})
    with relay.messages("a/b ü", since=message.seq) as messages:
        third = relay.push("3", channel="a/b ü")
        assert next(iter(messages)).url == third


def test_a_callback_that_fails_does_not_end_the_subscription(relay: ContextRelay, in_thread, caplog) -> None:
    received: Queue = Queue()

    def callback(url: str) -> None:
        received.put(url)
        raise RuntimeError("not mine")

    with relay.messages("failing", since="all"):
        pass
    in_thread(relay.subscribe, "failing", callback)
    urls = []
    for _ in range(100):
        urls.append(relay.push("x", channel="failing"))
        if len(urls) > 2 and received.qsize() >= 2:
            break
        time.sleep(0.2)
    assert received.get(timeout=30) in urls and received.get(timeout=30) in urls
    assert "not mine" in caplog.text


def test_a_lost_connection_loses_no_message() -> None:
    home_server = RelayProcess()
    port = home_server.url.rsplit(":", 1)[1]
    relay = ContextRelay(home_server.url)
    received: Queue = Queue()
    messages = relay.messages("c", max_reconnect_delay=0.5)
    thread = threading.Thread(target=lambda: [received.put(m.msg) for m in messages], daemon=True)
    thread.start()
    relay.publish("c", 1)
    assert received.get(timeout=30) == 1
    home_server._process.terminate()
    home_server._process.wait(30)
    again = RelayProcess("--port", port, home=home_server.home)
    try:
        for n in (2, 3):
            relay.publish("c", n)
        assert [received.get(timeout=60), received.get(timeout=60)] == [2, 3]
        messages.close()
        thread.join(30)
        assert not thread.is_alive()
    finally:
        again.stop()


def test_close_ends_a_loop_that_waits(relay: ContextRelay) -> None:
    messages = relay.messages("silent")
    thread = threading.Thread(target=lambda: list(messages), daemon=True)
    thread.start()
    time.sleep(0.5)
    messages.close()
    thread.join(30)
    assert not thread.is_alive()


def test_a_group_shares_its_messages_each_under_a_lease(relay: ContextRelay) -> None:
    for n in range(3):
        relay.publish("work", n)
    with relay.messages("work", group="team") as messages:
        each = iter(messages)
        first = next(each)
        assert (first.msg, first.attempt) == (0, 1)
        relay.extend(first)
        relay.ack(first)
        second = next(each)
        assert second.msg == 1
        assert relay.nack(second)["dead"] is False
        with pytest.raises(ConflictError):
            relay.ack(second)
    assert relay.channel("work")["groups"][0]["name"] == "team"
    with relay.messages("work", since="all") as messages, pytest.raises(BadInputError):
        relay.ack(next(iter(messages)))


def test_an_unreachable_relay_raises_at_once() -> None:
    with pytest.raises(RelayUnreachableError):
        ContextRelay("http://127.0.0.1:9", retries=0).subscribe("c", print)
    with pytest.raises(RelayUnreachableError):
        list(ContextRelay("http://127.0.0.1:9", retries=0).messages("c", since="all"))


@pytest.mark.parametrize("pattern", ["wild.*", "wild.>"])
def test_a_subscription_with_wildcards_gets_all_matching_channels(relay: ContextRelay, pattern: str) -> None:
    key = generate_key()
    keyed = ContextRelay(relay.base_url, channel_keys={"wild.b": key})
    with keyed.messages(pattern) as messages:
        first = relay.push("1", channel="wild.a")
        second = keyed.push("2", channel="wild.b", encrypted=True)
        relay.push("3", channel="tame")
        received = iter(messages)
        assert [(each.channel, each.url) for each in (next(received), next(received))] == [
            ("wild.a", first),
            ("wild.b", second),
        ]
