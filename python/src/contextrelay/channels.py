"""The messages of a channel."""

from __future__ import annotations

import json
import logging
import random
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Optional, Union
from urllib.parse import urlencode

import websocket

from .connection import Connection, is_passing
from .encryption import ChannelKeys, channel_key, unsealed_url
from .errors import (
    BadInputError,
    ConflictError,
    RelayError,
    RelayHTTPError,
    RelayTimeoutError,
    RelayUnreachableError,
)
from .transport import Transport
from .wire import Answer, Flow, JsonObject, ask, failure, get, post, redirected, segment

log = logging.getLogger("contextrelay")

#: ``"all"``, a sequence number, or a time in ISO 8601.
Since = Union[int, str]

FIRST_WAIT = 0.2
#: A connection that held this long was a good one: the next wait begins small again.
_GOOD = 5.0
#: A ping goes out after so long a silence; after two of them the connection is taken for lost.
SILENCE = 20.0
#: How long a lease is at least taken to last; the relay's clock may be far from ours.
_LEASE = 30.0


@dataclass(frozen=True)
class Message:
    """A pointer (``url``) or a signal (``msg``) on a channel."""

    channel: str
    seq: int
    #: When it was put on the channel, in ms.
    ts: int
    #: Set by the relay, not by the sender.
    sender: str = ""
    url: Optional[str] = None
    msg: Any = None
    metadata: JsonObject = field(default_factory=dict)
    #: In a group: proves that this member holds the work; how often it was handed out; until when it is ours, in ms.
    token: Optional[int] = None
    attempt: Optional[int] = None
    lease_until: Optional[int] = None
    #: Messages that were asked for and are no longer kept came before this one.
    gap: bool = False
    group: Optional[str] = None


def parse_message(
    text: str, channel: str, group: Optional[str], key: Optional[str], *, gap: bool
) -> Union[Message, bool, None]:
    """True for a frame that tells of a gap, None for what is no message."""
    try:
        frame = json.loads(text)
    except ValueError:
        return None
    if not isinstance(frame, dict):
        return None
    if frame.get("gap") is True and "seq" not in frame:
        return True
    url = frame.get("url")
    if isinstance(url, str):
        url = unsealed_url(url, frame.get("sealed_key"), key)
    elif "msg" not in frame:
        return None
    return Message(
        channel=channel,
        # The original ContextRelay numbers nothing.
        seq=frame.get("seq", 0),
        ts=frame.get("ts", 0),
        sender=str(frame.get("from", "")),
        url=url,
        msg=frame.get("msg"),
        metadata=frame.get("metadata") or {},
        token=frame.get("token"),
        attempt=frame.get("attempt"),
        lease_until=frame.get("lease_until"),
        gap=gap or bool(frame.get("gap")),
        group=group,
    )


class ChannelFlows:
    def publish(self, channel: str, msg: Any, *, idempotency_key: Optional[str] = None) -> Flow[JsonObject]:
        """A signal to all subscribers of a channel, without a payload: ``{"channel", "seq", "ts"}``."""
        return ask(post(f"/channels/{segment(channel)}", {"msg": msg}, key=idempotency_key or ""))

    def position(self, channel: str) -> Flow[Optional[int]]:
        """None where the relay keeps no messages: that of the original ContextRelay."""
        try:
            answer = yield from ask(get(f"/channels/{segment(channel)}/position"))
        except RelayHTTPError as error:
            if error.status in (404, 405) and error.code in ("not_found", "no_route", "method_not_allowed"):
                return None
            raise
        return int(answer["seq"])

    def channels(self, *, after: Optional[str] = None, limit: Optional[int] = None) -> Flow[JsonObject]:
        """``{"channels": […], "next"?}``."""
        return ask(get("/channels", after=after, limit=limit))

    def channel(self, name: str) -> Flow[JsonObject]:
        """A channel and its groups: backlog, members, leases."""
        return ask(get(f"/channels/{segment(name)}"))

    def ack(self, message: Message) -> Flow[None]:
        """In a group: the work is done."""
        yield from self.settle(message, "ack")

    def nack(self, message: Message) -> Flow[JsonObject]:
        """In a group: gives the work back, for another member."""
        return self.settle(message, "nack")

    def extend(self, message: Message) -> Flow[None]:
        """In a group: still at work. Raises ConflictError once the work is another's."""
        yield from self.settle(message, "extend")

    def settle(self, message: Message, how: str) -> Flow[JsonObject]:
        """``ack``, ``nack`` or ``extend``."""
        if message.group is None or message.token is None:
            raise BadInputError("Only messages of a group are acknowledged, given back or held longer.")
        path = f"/channels/{segment(message.channel)}/groups/{segment(message.group)}/{how}"
        return ask(post(path, {"seq": message.seq, "token": message.token}, repeatable=True))


def socket_path(channel: str, since: Optional[Since], group: Optional[str], prefetch: Optional[int]) -> str:
    asked = {"since": since, "group": group, "prefetch": prefetch}
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    return f"/ws/{segment(channel)}" + (f"?{query}" if query else "")


class Backoff:
    """Waits between two connections: longer each time, small again after one that held."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._next = FIRST_WAIT
        self._begun = time.monotonic()

    def begin(self) -> None:
        self._begun = time.monotonic()

    def wait(self) -> float:
        if time.monotonic() - self._begun > _GOOD:
            self._next = FIRST_WAIT
        wait = min(self._next, self._longest) * (0.5 + random.random())
        self._next = min(self._next * 2, self._longest)
        return wait


class Subscription:
    """The messages of a channel, to loop over. What comes after it was made is in it, also after lost connections.

    ``close`` ends the loop, from any thread.
    """

    def __init__(
        self,
        transport: Transport,
        channel: str,
        *,
        since: Optional[Since] = None,
        group: Optional[str] = None,
        prefetch: Optional[int] = None,
        channel_keys: Optional[ChannelKeys] = None,
        max_reconnect_delay: float = 60.0,
    ) -> None:
        self._transport = transport
        self._channel = channel
        self._group = group
        self._prefetch = prefetch
        self._key = channel_key(channel_keys, channel)
        self._backoff = Backoff(max_reconnect_delay)
        self._closed = threading.Event()
        self._socket: Optional[websocket.WebSocket] = None
        # A fixed place to resume from, even if the connection breaks before the first message.
        fixed = since is None and group is None
        self._since = transport.run(ChannelFlows().position(channel)) if fixed else since

    def __iter__(self) -> Iterator[Message]:
        answered = False
        while not self._closed.is_set():
            self._backoff.begin()
            try:
                self._socket = open_socket(self._transport.connection, self._path())
                answered = True
                yield from self._received(self._socket)
            except (RelayUnreachableError, RelayTimeoutError, RelayHTTPError) as error:
                # An address where nobody ever answered is an error, not a wait.
                if self._closed.is_set():
                    return
                if not is_passing(error) or (not answered and not isinstance(error, RelayHTTPError)):
                    raise
            finally:
                self._hang_up()
            self._closed.wait(self._backoff.wait())

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closed.set()
        self._hang_up()

    def _path(self) -> str:
        return socket_path(self._channel, self._since, self._group, self._prefetch)

    def _received(self, connection: websocket.WebSocket) -> Iterator[Message]:
        gap = False
        for text in _frames(connection, self._closed):
            message = parse_message(text, self._channel, self._group, self._key, gap=gap)
            if isinstance(message, Message):
                gap = False
                if self._group is None and message.seq:
                    self._since = message.seq
                if message.url is not None:
                    self._transport.connection.learn(message.url)
                yield message
            elif message:
                gap = True

    def _hang_up(self) -> None:
        connection, self._socket = self._socket, None
        if connection is None:
            return
        try:
            # Wakes whoever is reading from it in another thread.
            if connection.sock is not None:
                connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.shutdown()  # type: ignore[no-untyped-call]


def open_socket(connection: Connection, path: str) -> websocket.WebSocket:
    url, headers = connection.socket(path)
    try:
        opened = websocket.create_connection(
            url,
            timeout=connection.timeout,
            header=[f"{name}: {value}" for name, value in headers.items()],
            # The key goes to no other place.
            redirect_limit=0,
            enable_multithread=True,
        )
        # A redirect that is not followed looks to the library like a socket that was opened.
        if opened.getstatus() != 101:
            opened.shutdown()  # type: ignore[no-untyped-call]
            raise redirected(connection.base)
        return opened
    except websocket.WebSocketBadStatusException as error:
        raise _refused(error, connection) from error
    except websocket.WebSocketTimeoutException as error:
        raise RelayTimeoutError(f"No answer from {connection.base} in time.") from error
    except (websocket.WebSocketException, OSError) as error:
        raise RelayUnreachableError(f"The relay at {connection.base} does not answer.") from error


def _refused(error: websocket.WebSocketBadStatusException, connection: Connection) -> RelayError:
    names = {name.lower(): value for name, value in (error.resp_headers or {}).items()}
    answer = Answer(error.status_code, names, error.resp_body or b"", connection.base)
    try:
        connection.checked(answer)
    except RelayError as refused:
        return refused
    return failure(answer)


def _frames(connection: websocket.WebSocket, closed: threading.Event) -> Iterator[str]:
    """Texts, until the connection is lost or closed. A silent one is asked whether it is still there."""
    connection.settimeout(SILENCE)
    silent = 0
    while not closed.is_set():
        try:
            opcode, frame = connection.recv_data_frame(True)
        except websocket.WebSocketTimeoutException:
            silent += 1
            if silent > 2:
                return
            _ping(connection)
            continue
        except (websocket.WebSocketException, OSError, AttributeError):
            return
        silent = 0
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            return
        if opcode == websocket.ABNF.OPCODE_TEXT and frame is not None:
            yield bytes(frame.data).decode("utf-8", "replace")


def _ping(connection: websocket.WebSocket) -> None:
    try:
        connection.ping()
    except (websocket.WebSocketException, OSError):
        pass


class Lease:
    """Holds a message of a group for as long as the work on it takes. ``lost`` is set once it is another's."""

    def __init__(self, settle: Callable[[Message, str], Any], message: Message) -> None:
        self.lost = threading.Event()
        self._settle = settle
        self._message = message
        self._stop = threading.Event()
        left = (message.lease_until or 0) / 1000 - time.time()
        # Three times as often as needed.
        self._every = max(min(left, _LEASE) / 3, 0.1)
        self._thread = threading.Thread(target=self._renew, name="contextrelay-lease", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def _renew(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self._settle(self._message, "extend")
            except ConflictError:
                self.lost.set()
                return
            except RelayError:
                # The relay does not answer just now: the lease may still be good when it does.
                continue


def call_with_url(callback: Callable[[str], object], message: Message) -> None:
    """What a callback raises is logged: one bad message does not end a subscription."""
    if message.url is None:
        return
    try:
        callback(message.url)
    except Exception:
        log.exception("A subscriber of %s failed on message %s", message.channel, message.seq)
