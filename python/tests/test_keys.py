"""The API key is sent only where it belongs."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Iterator, List

import pytest

from contextrelay import BadInputError, ContextRelay, RelayError, RelayHTTPError

from .conftest import RelayProcess

ID = "0b54a5c3-6a8f-4a63-9d5f-0e6a1c9f8a11"


class Listener(ThreadingHTTPServer):
    """An HTTP server that records requests and returns prepared answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: List["tuple[str, str, dict[str, str]]"] = []
        self.location = ""
        self.failures = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Listener

    def do_GET(self) -> None:
        self.server.seen.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b'{"data":"old envelope","metadata":{}}'
        if self.server.failures > 0:
            self.server.failures -= 1
            self.send_response(503)
        elif self.server.location:
            self.send_response(302)
            self.send_header("Location", self.server.location)
        else:
            self.send_response(200)
            if self.command == "POST":
                body = (
                    b'{"url":"'
                    + self.server.url.encode()
                    + b"/pull/"
                    + ID.encode()
                    + b'","id":"'
                    + ID.encode()
                    + b'"}'
                )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as server:
        yield server
        server.shutdown()


@pytest.fixture
def other() -> Iterator[Listener]:
    with Listener() as server:
        yield server
        server.shutdown()


def test_a_relay_with_keys_requires_a_key(guarded: RelayProcess) -> None:
    with pytest.raises(RelayHTTPError) as caught:
        ContextRelay(guarded.url).push("x")
    assert caught.value.code == "unauthorized"
    relay = ContextRelay(guarded.url, guarded.key)
    url = relay.push("x", channel="keyed")
    assert relay.pull(url) == "x"
    with relay.messages("keyed", since="all") as messages:
        assert next(iter(messages)).url == url


def test_a_subscriber_without_a_key_gets_an_error(guarded: RelayProcess) -> None:
    with pytest.raises(RelayHTTPError) as caught:
        list(ContextRelay(guarded.url).messages("keyed", since="all"))
    assert caught.value.code == "unauthorized"


def test_the_key_is_sent_only_to_its_own_origin(listener: Listener, other: Listener) -> None:
    relay = ContextRelay(listener.url, "cr_live_mine")
    assert relay.pull(f"{listener.url}/pull/{ID}") == "old envelope"
    assert relay.pull(f"{other.url}/pull/{ID}") == "old envelope"
    assert listener.seen[0][2]["authorization"] == "Bearer cr_live_mine"
    assert "authorization" not in other.seen[0][2]


def test_neither_key_nor_payload_follows_a_redirect(listener: Listener, other: Listener) -> None:
    listener.location = f"{other.url}/elsewhere"
    relay = ContextRelay(listener.url, "cr_live_mine")
    for call in (lambda: relay.push("x"), lambda: relay.pull(ID), lambda: relay.peek(ID)):
        with pytest.raises(BadInputError, match="redirects"):
            call()
    with pytest.raises(RelayError):
        list(relay.messages("c", since="all"))
    with pytest.raises(BadInputError, match="redirects"):
        ContextRelay(listener.url).push("x")
    assert other.seen == []
    # Without an API key, a redirect of a GET is followed.
    ContextRelay(listener.url).pull(ID)
    assert len(other.seen) == 1


def test_a_key_in_the_environment_belongs_to_the_address_in_it(
    listener: Listener, other: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTRELAY_URL", listener.url)
    monkeypatch.setenv("CONTEXTRELAY_API_KEY", "cr_live_env\n")
    ContextRelay().pull(ID)
    ContextRelay(other.url).pull(ID)
    assert listener.seen[0][2]["authorization"] == "Bearer cr_live_env"
    assert "authorization" not in other.seen[0][2]


def test_a_netrc_file_does_not_replace_the_key(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    netrc = f"{tmp_path}/netrc"
    with open(netrc, "w") as file:
        file.write("machine 127.0.0.1 login me password mine\n")
    monkeypatch.setenv("NETRC", netrc)
    ContextRelay(listener.url, "cr_live_mine").pull(ID)
    ContextRelay(listener.url).pull(ID)
    assert listener.seen[0][2]["authorization"] == "Bearer cr_live_mine"
    assert "authorization" not in listener.seen[1][2]


def test_the_url_fragment_is_never_sent(listener: Listener) -> None:
    from contextrelay import generate_key

    with pytest.raises(ValueError):
        ContextRelay(listener.url).pull(f"{listener.url}/pull/{ID}#key={generate_key()}")
    assert listener.seen and not any("key=" in path for _, path, _ in listener.seen)


def test_a_retry_uses_the_same_idempotency_key(listener: Listener) -> None:
    listener.failures = 2
    ContextRelay(listener.url).push("x")
    keys = {headers["idempotency-key"] for _, _, headers in listener.seen}
    assert len(listener.seen) == 3 and len(keys) == 1


def test_a_malformed_address_or_key_is_rejected_when_the_client_is_created() -> None:
    for base in ("relay.example", "ftp://relay.example", "https://me:pw@relay.example"):
        with pytest.raises(BadInputError):
            ContextRelay(base)
    with pytest.raises(BadInputError):
        ContextRelay("https://relay.example", "cr_live_ü")


def test_errors_do_not_show_the_key(listener: Listener) -> None:
    listener.failures = 9
    with pytest.raises(RelayError) as caught:
        ContextRelay(listener.url, "cr_live_mine", retries=0).push("x")
    assert "cr_live" not in repr(caught.value) + str(caught.value)


def test_the_proxy_of_the_environment_is_used(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", listener.url)
    monkeypatch.setenv("no_proxy", "direct.invalid")
    assert ContextRelay("http://relay.invalid").pull(ID) == "old envelope"
    assert listener.seen[0][1] == f"http://relay.invalid/pull/{ID}"
    with pytest.raises(RelayError):
        ContextRelay("http://direct.invalid", retries=0).pull(ID)
    assert len(listener.seen) == 1
