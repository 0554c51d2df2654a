from __future__ import annotations

import json
import threading
import time

import pytest
import requests

from contextrelay import (
    BadInputError,
    ContextRelay,
    DecryptError,
    NotFoundError,
    PartRequest,
    RelayHTTPError,
    RelayUnreachableError,
)

TRICKY = [
    '{"data":"inner","metadata":{"x":1}}',
    '"\\"\\\\u0041\\n',
    "".join(map(chr, range(32))),
    "ñ é 漢字 العربية 👩‍👩‍👧‍👦 \u2028\u2029 \ufeff",
    "\ufeffbom",
    "a\r\nb\rc\n",
]


def test_a_pushed_text_can_be_pulled(relay: ContextRelay) -> None:
    url = relay.push("large text")
    assert url.startswith(f"{relay.base_url}/pull/")
    assert relay.pull(url) == "large text"


@pytest.mark.parametrize("text", TRICKY)
@pytest.mark.parametrize("encrypted", [False, True])
def test_every_text_comes_back_exactly(relay: ContextRelay, text: str, encrypted: bool) -> None:
    assert relay.pull(relay.push(text, encrypted=encrypted)) == text


def test_bytes_come_back_exactly_and_are_not_text(relay: ContextRelay) -> None:
    data = bytes(range(256)) * 100
    url = relay.push(data, metadata={"größe": len(data)})
    assert relay.pull_bytes(url) == data
    assert relay.peek(url) == {"größe": len(data)}
    with pytest.raises(BadInputError) as caught:
        relay.pull(url)
    assert caught.value.code == "not_text"


def test_a_handle_stands_for_the_url(relay: ContextRelay) -> None:
    pushed = relay.push_detailed("short name", metadata={"a": 1})
    handle = pushed.handle
    assert handle is not None and handle.startswith("relay:")
    assert relay.pull(handle) == "short name"
    assert relay.peek(handle) == {"a": 1}
    found = relay.inspect(handle)
    assert (found.id, found.handle) == (pushed.id, handle)
    assert relay.receipts(handle)["handle"] == handle
    assert list(relay.renew([handle])) == [pushed.id]
    relay.delete(handle)
    with pytest.raises(NotFoundError):
        relay.pull(handle)
    for mistyped in ("relay:12x", "relay:0", "relay:"):
        with pytest.raises(BadInputError) as caught:
            relay.pull(mistyped)
        assert "is not a handle" in str(caught.value)


def test_a_peek_returns_the_metadata_or_an_empty_object(relay: ContextRelay) -> None:
    url = relay.push("rows", metadata={"step": "sql", "rows": 3})
    assert relay.peek(url) == {"step": "sql", "rows": 3}
    assert relay.peek(relay.push("rows")) == {}


def test_inspect_returns_size_expiry_and_sender(relay: ContextRelay) -> None:
    pushed = relay.push_detailed(
        "one two", metadata={"a": 1}, ttl=60, max_pulls=3, content_type="text/x", count=True
    )
    info = relay.inspect(pushed.url)
    assert (info.size, info.text, info.content_type, info.max_pulls) == (7, True, "text/x", 3)
    assert info.expires_at == pushed.expires_at
    assert pushed.tokens is not None and pushed.tokens["tokens"] == 2
    assert relay.receipts(pushed.url)["reached"] == "stored"


def test_push_has_the_signature_of_the_original_package(relay: ContextRelay) -> None:
    assert relay.pull(relay.push("x", "a-channel", False, {"a": 1})) == "x"
    assert ContextRelay(base_url=relay.base_url, api_key=None, timeout=30).timeout == 30


def test_the_key_is_only_in_the_url_fragment(relay: ContextRelay) -> None:
    url = relay.push("a secret", encrypted=True)
    address, _, fragment = url.partition("#key=")
    assert len(fragment) == 44
    stored = requests.get(address, headers={"Accept": "application/octet-stream"}, timeout=30).text
    assert stored.startswith("gAAAAA") and "secret" not in stored
    assert relay.pull(url) == "a secret"


def test_a_wrong_key_is_a_value_error_and_costs_no_pull(relay: ContextRelay) -> None:
    url = relay.push("once", encrypted=True, max_pulls=1)
    address = url.partition("#")[0]
    other = relay.push("x", encrypted=True).partition("#")[2]
    for wrong in (f"{address}#{other}", f"{address}#key=", f"{address}#key=short"):
        with pytest.raises(ValueError, match="Failed to decrypt: Invalid or missing key"):
            relay.pull(wrong)
    with pytest.raises(RelayHTTPError) as caught:
        relay.pull(address)
    assert caught.value.code == "key_missing"
    assert relay.pull(url) == "once"
    with pytest.raises(NotFoundError):
        relay.pull(url)


def test_damaged_ciphertext_is_rejected(relay: ContextRelay) -> None:
    from contextrelay.encryption import encrypt, generate_key

    key = generate_key()
    token = encrypt(key, b"text").decode()
    url = relay.push(token[:-6] + "AAAA" + token[-2:])
    with pytest.raises(DecryptError):
        relay.pull(f"{url}#key={key}")


def test_a_missing_pointer_is_an_http_error_of_requests(relay: ContextRelay) -> None:
    missing = f"{relay.base_url}/pull/00000000-0000-4000-8000-000000000000"
    for call in (relay.pull, relay.peek, relay.inspect, relay.delete):
        with pytest.raises(requests.HTTPError) as caught:
            call(missing)
        assert isinstance(caught.value, NotFoundError) and caught.value.code == "not_found"
        assert caught.value.hint


def test_an_invalid_pointer_is_rejected_before_anything_is_sent(relay: ContextRelay) -> None:
    for text in ("", "notes", "ftp://host/pull/x", f"{relay.base_url}/other", "https://host:port/pull/x"):
        with pytest.raises(ValueError, match="Not a ContextRelay pointer URL"):
            relay.peek(text)


def test_a_deleted_pointer_cannot_be_pulled(relay: ContextRelay) -> None:
    url = relay.push("x")
    relay.delete(url)
    with pytest.raises(NotFoundError):
        relay.pull(url)


def test_a_renewed_pointer_expires_later(relay: ContextRelay) -> None:
    url = relay.push("x", ttl=60)
    before = relay.inspect(url)
    renewed = relay.renew([url, "00000000-0000-4000-8000-000000000000"], ttl=3600)
    assert list(renewed) == [before.id] and renewed[before.id] > before.expires_at
    assert relay.inspect(url).expires_at == renewed[before.id]
    assert relay.pull(url) == "x"


def test_the_relay_returns_parts(relay: ContextRelay) -> None:
    url = relay.push("\n".join(f"line {n}" for n in range(1, 101)))
    assert relay.pull(url, lines="10-12") == "line 10\nline 11\nline 12"
    assert relay.pull(url, lines="-1") == "line 100"
    assert relay.pull(url, grep="LINE 9[89]$", ignore_case=True) == "98:line 98\n99:line 99"
    part = relay.pull_part(url, PartRequest(lines="99-"))
    assert (part.text, part.about, part.truncated) == ("line 99\nline 100", "lines 99-100 of 100", False)
    assert relay.cost(url, PartRequest(lines="1-2"))["tokens"] > 0
    users = relay.push(json.dumps({"users": [{"name": "ada"}]}))
    assert relay.pull(users, json="/users/0/name") == "ada"
    assert "users" in relay.pull(users, outline=True)
    assert "line 7\n" in relay.pull(url, question="what is line 7?")
    with pytest.raises(ValueError):
        relay.pull(url, lines="1", grep="x")


def test_parts_of_an_encrypted_payload_equal_those_of_the_relay(relay: ContextRelay) -> None:
    text = "\n".join(
        ["# Notes", "", *(f"row {n}: {'error' if n % 7 == 0 else 'fine'}" for n in range(50)), "end"]
    )
    document = json.dumps({"a/b": [1, {"c": "text"}], "n": None})
    plain, secret = relay.push(text), relay.push(text, encrypted=True)
    for part in (
        PartRequest(lines="3-5"),
        PartRequest(lines="-2"),
        PartRequest(lines="50-"),
        PartRequest(grep="error"),
        PartRequest(grep="ERROR", ignore_case=True, context=1),
        PartRequest(grep="nothing"),
    ):
        assert relay.pull_part(secret, part).text == relay.pull_part(plain, part).text
    plain, secret = relay.push(document), relay.push(document, encrypted=True)
    for pointer in ("", "/a~1b", "/a~1b/1/c", "/n"):
        assert relay.pull(secret, json=pointer) == relay.pull(plain, json=pointer)
    with pytest.raises(ValueError):
        relay.pull(secret, json="/missing")


def test_the_same_idempotency_key_creates_one_pointer(relay: ContextRelay) -> None:
    first = relay.push_detailed("same", idempotency_key="k-1")
    assert relay.push_detailed("same", idempotency_key="k-1").id == first.id
    with pytest.raises(RelayHTTPError) as caught:
        relay.push("other", idempotency_key="k-1")
    assert caught.value.code == "idempotency_conflict"


def test_invalid_input_is_explained(relay: ContextRelay) -> None:
    with pytest.raises(TypeError, match="metadata must be a dict"):
        relay.push("x", metadata=["a"])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        relay.push(7)  # type: ignore[arg-type]
    with pytest.raises(BadInputError):
        relay.push("x", metadata={"a": object()})
    with pytest.raises(BadInputError):
        relay.push("\ud800")
    with pytest.raises(BadInputError) as caught:
        relay.push("x" * (25 * 1024 * 1024 + 1))
    assert caught.value.code == "too_large"


def test_25_mb_can_be_pushed_and_pulled_encrypted_or_not(relay: ContextRelay) -> None:
    data = "é0123456789abcd\n" * (25 * 1024 * 1024 // 17)
    for encrypted in (False, True):
        assert relay.pull(relay.push(data, encrypted=encrypted, ttl=60)) == data


def test_an_unreachable_relay_raises_at_once() -> None:
    with pytest.raises(RelayUnreachableError) as caught:
        ContextRelay("http://127.0.0.1:9", retries=0).push("x")
    assert isinstance(caught.value, requests.ConnectionError)


def test_many_threads_can_share_one_client(relay: ContextRelay) -> None:
    pulled = {}

    def work(n: int) -> None:
        pulled[n] = relay.pull(relay.push(f"text {n}", encrypted=n % 2 == 0))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pulled == {n: f"text {n}" for n in range(16)}


def test_publish_reaches_subscribers_without_a_payload(relay: ContextRelay) -> None:
    with relay.messages("signals") as messages:
        answer = relay.publish("signals", {"stage": "done"})
        message = next(iter(messages))
    assert (message.msg, message.url, message.seq) == ({"stage": "done"}, None, answer["seq"])
    assert abs(message.ts / 1000 - time.time()) < 600


def test_looks_use_up_no_pull_and_the_agent_is_the_sender(relay: ContextRelay) -> None:
    ada = ContextRelay(relay.base_url, agent="Ada ✓")
    url = ada.push("# Title\n\nfor one reader\n", encrypted=True, max_pulls=1)
    with pytest.raises(BadInputError):
        ada.pull(url, outline=True)
    assert ContextRelay(relay.base_url, agent="Ben").pull(url, grep="nothing like it") == ""
    assert ada.pull(url, grep="nothing like it") == ""
    with pytest.raises(BadInputError):
        ada.pull(url, lines="900-")
    found = ada.inspect(url)
    assert (found.pulls_left, found.sender, found.agent) == (1, "Ada ✓", None)
    assert ada.pull(url, grep="reader") == "3:for one reader"
    with pytest.raises(NotFoundError):
        ada.pull(url)
