"""Channels: publish messages, subscribe to them, and acknowledge them in a group."""

from __future__ import annotations

import json
import logging
import random
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, Optional, Union
from urllib.parse import urlencode

import websocket

from .connection import Connection, is_passing, no_answer
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
from .types import ChannelDetail, ChannelPage, Nacked, Published
from .wire import Answer, Flow, JsonObject, ask, failure, get, post, redirected, segment

log = logging.getLogger("contextrelay")

#: Start position: ``"all"``, a sequence number, or a time in ISO 8601.
Since = Union[int, str]

FIRST_WAIT = 0.2
#: A connection that lasted longer than this many seconds resets the reconnect delay.
_STABLE = 5.0
#: Seconds without data after which a ping is sent. After two pings without an answer, the connection counts
#: as lost.
SILENCE = 20.0
#: Maximum lease in seconds that is assumed. The clock of the relay may differ from the local clock, so a
#: longer computed lease may be wrong.
_LEASE = 30.0


@dataclass(frozen=True)
class Message:
    """A message on a channel: a pointer (``url``) or a small JSON value (``msg``)."""

    channel: str
    seq: int
    #: Time at which the message reached the channel, in ms since 1970.
    ts: int
    #: Name of the sender. The relay sets it, so a sender cannot forge it.
    sender: str = ""
    url: Optional[str] = None
    msg: Any = None
    metadata: JsonObject = field(default_factory=dict)
    #: In a group: token that proves that this member holds the lease.
    token: Optional[int] = None
    #: In a group: number of deliveries of the message, including this one.
    attempt: Optional[int] = None
    #: In a group: end of the lease, in ms since 1970.
    lease_until: Optional[int] = None
    #: True if earlier messages are missing because the relay no longer stores them.
    gap: bool = False
    group: Optional[str] = None


def parse_message(
    text: str, channel: str, group: Optional[str], keys: Optional[ChannelKeys], *, gap: bool
) -> Union[Message, bool, None]:
    """Parses a frame and returns the message. Returns True for a gap frame, and None for any other frame."""
    try:
        frame = json.loads(text)
    except ValueError:
        return None
    if not isinstance(frame, dict):
        return None
    if frame.get("gap") is True and "seq" not in frame:
        return True
    # With wildcards, each message names its channel.
    channel = frame.get("channel") or channel
    url = frame.get("url")
    if isinstance(url, str):
        url = unsealed_url(url, frame.get("sealed_key"), channel_key(keys, channel))
    elif "msg" not in frame:
        return None
    return Message(
        channel=channel,
        # The original ContextRelay server sends no sequence numbers.
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
    """Operations on channels."""

    def publish(
        self,
        channel: str,
        msg: Any,
        *,
        after: Optional[float] = None,
        idempotency_key: Optional[str] = None,
    ) -> Flow[Published]:
        """Sends a small JSON message to all subscribers of a channel. Returns ``{"channel", "seq", "ts"}``.

        ``after``: seconds until the message reaches the channel. Default: at once.
        """
        value = {"msg": msg} if after is None else {"msg": msg, "after": after}
        return ask(post(f"/channels/{segment(channel)}", value, key=idempotency_key or ""))

    def position(self, channel: str) -> Flow[Optional[int]]:
        """Returns the sequence number of the newest message in a channel.

        Returns None for the original ContextRelay server, which has no sequence numbers.
        """
        try:
            answer = yield from ask(get(f"/channels/{segment(channel)}/position"))
        except RelayHTTPError as error:
            if error.status in (404, 405) and error.code in ("not_found", "no_route", "method_not_allowed"):
                return None
            raise
        return int(answer["seq"])

    def channels(self, *, after: Optional[str] = None, limit: Optional[int] = None) -> Flow[ChannelPage]:
        """Lists channels: ``{"channels": […], "next"?}``. Pass ``next`` as ``after`` to get the next page."""
        return ask(get("/channels", after=after, limit=limit))

    def channel(self, name: str) -> Flow[ChannelDetail]:
        """Returns a channel and its groups, with backlog, members and leases."""
        return ask(get(f"/channels/{segment(name)}"))

    def ack(self, message: Message) -> Flow[None]:
        """Acknowledges a group message, because the work on it is done."""
        yield from self.settle(message, "ack")

    def nack(self, message: Message) -> Flow[Nacked]:
        """Gives a message back to its group, so that it is delivered again."""
        return self.settle(message, "nack")

    def extend(self, message: Message) -> Flow[None]:
        """Renews the lease of a group message.

        Raises ConflictError if another member holds the message now.
        """
        yield from self.settle(message, "extend")

    def settle(self, message: Message, how: str) -> Flow[Any]:
        """Sends ``ack``, ``nack`` or ``extend`` for a group message."""
        if message.group is None or message.token is None:
            raise BadInputError(
                "ack, nack and extend work only for messages of a group.",
                hint='Read the channel with group="NAME".',
            )
        path = f"/channels/{segment(message.channel)}/groups/{segment(message.group)}/{how}"
        return ask(post(path, {"seq": message.seq, "token": message.token}, repeatable=True))


def socket_path(channel: str, since: Optional[Since], group: Optional[str], prefetch: Optional[int]) -> str:
    """Returns the path and the query of a WebSocket to a channel."""
    fields = {"since": since, "group": group, "prefetch": prefetch}
    query = urlencode({name: value for name, value in fields.items() if value is not None})
    return f"/ws/{segment(channel)}" + (f"?{query}" if query else "")


def is_pattern(channel: str) -> bool:
    """Returns whether a name has wildcards: ``*`` for one part, ``>`` at the end for one or more parts."""
    parts = channel.split(".")
    return "*" in parts or parts[-1] == ">"


#: After a lost connection, a subscription with wildcards resumes this many ms before its last message, because the
#: clocks of several servers differ. Messages that come again are skipped.
_RESUME_MS = 5_000


def resume_time() -> int:
    """Returns the time from which a subscription with wildcards resumes if no message has arrived yet."""
    return int(time.time() * 1000) - _RESUME_MS


class Resume:
    """The position at which a subscription continues after a lost connection."""

    def __init__(self, since: Optional[Since]) -> None:
        self.since = since
        self._seen: Dict[str, int] = {}

    def is_new(self, message: Message, subscribed: str) -> bool:
        """Returns whether the message comes for the first time, and moves the position."""
        if message.channel == subscribed:
            self.since = message.seq
            return True
        # With wildcards, each channel has its own sequence numbers, so continue by time.
        if message.seq <= self._seen.get(message.channel, 0) and not message.gap:
            return False
        self._seen[message.channel] = message.seq
        self.since = max(message.ts - _RESUME_MS, 0)
        return True


class Backoff:
    """Computes the delay before a reconnect. It grows with each attempt. A stable connection resets it."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._next = FIRST_WAIT
        self._begun = time.monotonic()

    def begin(self) -> None:
        """Marks the start of a connection."""
        self._begun = time.monotonic()

    def wait(self) -> float:
        """Returns the seconds to wait before the next connection."""
        if time.monotonic() - self._begun > _STABLE:
            self._next = FIRST_WAIT
        wait = min(self._next, self._longest) * (0.5 + random.random())
        self._next = min(self._next * 2, self._longest)
        return wait


class Subscription:
    """A subscription to a channel. Loop over it to get the messages.

    Every message that is sent after the subscription was created arrives, even if the connection is lost
    for some time. ``close`` ends the loop. It can be called from any thread.
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
        self._keys = channel_keys
        self._backoff = Backoff(max_reconnect_delay)
        self._closed = threading.Event()
        self._socket: Optional[websocket.WebSocket] = None
        self._since = since
        if since is None and group is None:
            # Determine the start position now, so that no message before the loop is lost. A pattern has no
            # start position, because each channel has its own sequence numbers. For a pattern, connect now.
            if is_pattern(channel):
                self._socket = open_socket(transport.connection, self._path())
                self._since = resume_time()
            else:
                self._since = transport.run(ChannelFlows().position(channel))
        self._resume = Resume(self._since)

    def __iter__(self) -> Iterator[Message]:
        answered = False
        while not self._closed.is_set():
            self._backoff.begin()
            try:
                if self._socket is None:
                    self._socket = open_socket(self._transport.connection, self._path())
                answered = True
                yield from self._received(self._socket)
            except (RelayUnreachableError, RelayTimeoutError, RelayHTTPError) as error:
                # If the relay has never answered, the address is probably wrong. Then do not retry.
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
        """Closes the subscription and ends the loop."""
        self._closed.set()
        self._hang_up()

    def _path(self) -> str:
        return socket_path(self._channel, self._since, self._group, self._prefetch)

    def _received(self, connection: websocket.WebSocket) -> Iterator[Message]:
        gap = False
        for text in _frames(connection, self._closed):
            message = parse_message(text, self._channel, self._group, self._keys, gap=gap)
            if isinstance(message, Message):
                gap = False
                if self._group is None and message.seq:
                    if not self._resume.is_new(message, self._channel):
                        continue
                    self._since = self._resume.since
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
            # Wake up a thread that is blocked in a read from this socket.
            if connection.sock is not None:
                connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.shutdown()  # type: ignore[no-untyped-call]


def open_socket(connection: Connection, path: str) -> websocket.WebSocket:
    """Opens a WebSocket to the relay. If the relay rejects the connection, raises the relay's error."""
    url, headers = connection.socket(path)
    try:
        opened = websocket.create_connection(
            url,
            timeout=connection.timeout,
            header=[f"{name}: {value}" for name, value in headers.items()],
            # Do not follow a redirect, because it could send the API key to another host.
            redirect_limit=0,
            enable_multithread=True,
        )
        # If a redirect was not followed, the library returns an open socket. Its status shows the redirect.
        if opened.getstatus() != 101:
            opened.shutdown()  # type: ignore[no-untyped-call]
            raise redirected(connection.base)
        return opened
    except websocket.WebSocketBadStatusException as error:
        raise _refused(error, connection) from error
    except websocket.WebSocketTimeoutException as error:
        raise RelayTimeoutError(f"No answer from {connection.base} in time.") from error
    except (websocket.WebSocketException, OSError) as error:
        raise no_answer(connection.base) from error


def _refused(error: websocket.WebSocketBadStatusException, connection: Connection) -> RelayError:
    names = {name.lower(): value for name, value in (error.resp_headers or {}).items()}
    answer = Answer(error.status_code, names, error.resp_body or b"", connection.base)
    try:
        connection.checked(answer)
    except RelayError as refused:
        return refused
    return failure(answer)


def _frames(connection: websocket.WebSocket, closed: threading.Event) -> Iterator[str]:
    """Yields text frames until the connection is lost or closed. Sends a ping if the connection is silent."""
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
    """Renews the lease of a group message until ``stop`` is called.

    ``lost`` is set if another member holds the message.
    """

    def __init__(self, settle: Callable[[Message, str], Any], message: Message) -> None:
        self.lost = threading.Event()
        self._settle = settle
        self._message = message
        self._stop = threading.Event()
        left = (message.lease_until or 0) / 1000 - time.time()
        # Renew after a third of the lease, so that one failed attempt does not lose the lease.
        self._every = max(min(left, _LEASE) / 3, 0.1)
        self._thread = threading.Thread(target=self._renew, name="contextrelay-lease", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops renewing the lease."""
        self._stop.set()

    def _renew(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self._settle(self._message, "extend")
            except ConflictError:
                self.lost.set()
                return
            except RelayError:
                # Ignore the error. The lease may still be valid when the relay answers again.
                continue


def call_with_url(callback: Callable[[str], object], message: Message) -> None:
    """Calls the callback with the URL of the message.

    Exceptions of the callback are logged, so that one bad message does not end the loop.
    """
    if message.url is None:
        return
    try:
        callback(message.url)
    except Exception:
        log.exception("A subscriber of %s failed on message %s", message.channel, message.seq)
