"""The client for asyncio. It needs the extra ``contextrelay[async]``.

async with AsyncContextRelay() as relay:
    url = await relay.push(large_text)
    async for message in relay.messages("reviews"): ...
"""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Mapping, Optional

try:
    import aiohttp
except ImportError as missing:  # pragma: no cover
    raise ImportError(
        "This needs contextrelay[async]: pip install './python[async]' in the clone"
    ) from missing

from .channels import (
    SILENCE,
    Backoff,
    ChannelFlows,
    Message,
    Resume,
    Since,
    is_pattern,
    parse_message,
    socket_path,
)
from .client import RelayFlows
from .connection import Connection, is_passing
from .encryption import ChannelKeys, channel_key
from .errors import RelayError, RelayHTTPError, RelayTimeoutError, RelayUnreachableError
from .files import FileFlows, SpaceFlows
from .pointers import PointerFlows
from .tasks import TaskFlows
from .threads import ThreadFlows
from .wire import Answer, Call, Flow, T, awaited, redirected

__all__ = ["AsyncContextRelay"]

_PIECE = 64 * 1024


class AsyncTransport:
    """Sends calls to the relay over ``aiohttp``."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._session: Optional[aiohttp.ClientSession] = None
        self._sockets: Optional[aiohttp.ClientSession] = None

    # An aiohttp session belongs to one event loop. So both sessions are created on first use, inside the
    # loop.

    @property
    def session(self) -> aiohttp.ClientSession:
        """Session for HTTP requests."""
        if self._session is None or self._session.closed:
            seconds = self.connection.timeout
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=seconds, sock_read=seconds)
            self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    @property
    def sockets(self) -> aiohttp.ClientSession:
        """Session for WebSockets. It rejects redirects, because aiohttp would follow them."""
        if self._sockets is None or self._sockets.closed:
            trace = aiohttp.TraceConfig()
            trace.on_request_redirect.append(self._refuse_redirect)
            self._sockets = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), trace_configs=[trace])
        return self._sockets

    async def _refuse_redirect(self, *_: object) -> None:
        raise redirected(self.connection.base)

    async def run(self, flow: Flow[T]) -> T:
        """Runs a flow: sends each call that the flow yields, and returns the result of the flow."""
        try:
            call = next(flow)
            while True:
                try:
                    answer = await self.send(call)
                except RelayError as error:
                    call = flow.throw(error)
                else:
                    call = flow.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    async def send(self, call: Call) -> Answer:
        """Sends a call.

        Retries it if a retry is allowed. Raises an exception if the answer is not a success.
        """
        attempt = 0
        while True:
            try:
                return self.connection.checked(await self._once(call))
            except RelayError as error:
                # An earlier attempt deleted the object, but the answer to that attempt was lost. So 404
                # means success.
                if attempt > 0 and call.method == "DELETE" and error.status == 404:
                    return Answer(204, {}, b"", call.base or self.connection.base)
                await asyncio.sleep(self.connection.wait(call, error, attempt))
                attempt += 1

    async def close(self) -> None:
        for session in (self._session, self._sockets):
            if session is not None:
                await session.close()

    async def _once(self, call: Call) -> Answer:
        base = call.base or self.connection.base
        url, headers, follow = self.connection.address(call)
        try:
            async with self.session.request(
                call.method,
                url,
                params=call.parameters,
                headers=headers,
                data=call.body,
                allow_redirects=follow,
            ) as response:
                body = await _read(response, call.most)
                names = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status, names, body, base)
        except (aiohttp.ClientSSLError, aiohttp.ClientConnectorCertificateError) as error:
            untrusted = RelayUnreachableError(
                f"The certificate of {base} is not trusted.", code="untrusted_certificate"
            )
            untrusted.final = True
            raise untrusted from error
        except asyncio.TimeoutError as error:
            raise RelayTimeoutError(f"No answer from {base} within {self.connection.timeout:g} s.") from error
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, RelayError):
                raise
            hint = "Check the address. To start a relay on this machine: relay up"
            raise RelayUnreachableError(f"The relay at {base} does not answer.", hint=hint) from error


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    pieces = []
    size = 0
    async for piece in response.content.iter_chunked(_PIECE):
        size += len(piece)
        if size > most:
            raise RelayHTTPError(f"The answer is longer than {most} bytes.", code="too_large", status=413)
        pieces.append(piece)
    return b"".join(pieces)


class AsyncContextRelay:
    """Asynchronous form of :class:`contextrelay.ContextRelay`. Use one client per event loop."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        timeout: float = 30,
        *,
        retries: int = 3,
        channel_keys: Optional[ChannelKeys] = None,
        agent: Optional[str] = None,
    ) -> None:
        """Creates a client. It has the same options as :class:`contextrelay.ContextRelay`."""
        connection = Connection(base_url, api_key, timeout=timeout, retries=retries, agent=agent)
        self._transport = AsyncTransport(connection)
        self._channel_keys = channel_keys
        self._flows = RelayFlows(connection, channel_keys)
        #: Threads: versioned state, artifacts and an event log.
        self.threads = AsyncThreads(self._transport)
        #: Tasks that were sent to agents.
        self.tasks = AsyncTasks(self._transport)
        #: Named files with versions, grouped into spaces.
        self.files = AsyncFiles(self._transport)

    @property
    def base_url(self) -> str:
        """Address of the relay."""
        return self._transport.connection.base

    @property
    def timeout(self) -> float:
        """Maximum seconds to wait for the start of a response and for each further chunk."""
        return self._transport.connection.timeout

    async def __aenter__(self) -> AsyncContextRelay:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the client's connections."""
        await self._transport.close()

    push = awaited(PointerFlows.push)
    push_detailed = awaited(PointerFlows.push_detailed)
    pull = awaited(PointerFlows.pull)
    pull_part = awaited(PointerFlows.pull_part)
    pull_bytes = awaited(PointerFlows.pull_bytes)
    cost = awaited(PointerFlows.cost)
    peek = awaited(PointerFlows.peek)
    inspect = awaited(PointerFlows.inspect)
    renew = awaited(PointerFlows.renew)
    delete = awaited(PointerFlows.delete)
    receipts = awaited(PointerFlows.receipts)
    publish = awaited(ChannelFlows.publish)
    ack = awaited(ChannelFlows.ack)
    nack = awaited(ChannelFlows.nack)
    extend = awaited(ChannelFlows.extend)
    channels = awaited(ChannelFlows.channels)
    channel = awaited(ChannelFlows.channel)

    async def messages(
        self,
        channel: str,
        *,
        since: Optional[Since] = None,
        group: Optional[str] = None,
        prefetch: Optional[int] = None,
        max_reconnect_delay: float = 60.0,
    ) -> AsyncIterator[Message]:
        """Subscribes to a channel and yields its messages. Reconnects after a lost connection.

        It has the same options as :meth:`contextrelay.ContextRelay.messages`. Without ``since``, it yields
        the messages that are sent after the loop has started.
        """
        if since is None and group is None and not is_pattern(channel):
            since = await self._transport.run(self._flows.position(channel))
        resume = Resume(since)
        backoff = Backoff(max_reconnect_delay)
        answered = False
        while True:
            backoff.begin()
            try:
                async with self._open(socket_path(channel, since, group, prefetch)) as socket:
                    answered = True
                    async for message in self._received(socket, channel, group):
                        if group is None and message.seq:
                            if not resume.is_new(message, channel):
                                continue
                            since = resume.since
                        yield message
            except RelayError as error:
                if not answered or not is_passing(error):
                    raise
            except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
                # If the relay has never answered, the address is probably wrong. Then do not retry.
                if not answered:
                    what = f"The relay at {self.base_url} does not answer."
                    raise RelayUnreachableError(what) from error
            await asyncio.sleep(backoff.wait())

    def has_channel_key(self, channel: str) -> bool:
        """Returns whether this client has the shared encryption key of a channel.

        Without this key, subscribers of the channel cannot decrypt the payloads that this client encrypts.
        """
        return channel_key(self._channel_keys, channel) is not None

    def _open(self, path: str) -> Any:
        url, headers = self._transport.connection.socket(path)
        return _Socket(self._transport, url, headers, path)

    async def _received(
        self, socket: aiohttp.ClientWebSocketResponse, channel: str, group: Optional[str]
    ) -> AsyncIterator[Message]:
        key = channel_key(self._channel_keys, channel)
        gap = False
        async for frame in socket:
            if frame.type is not aiohttp.WSMsgType.TEXT:
                continue
            message = parse_message(frame.data, channel, group, key, gap=gap)
            if isinstance(message, Message):
                gap = False
                if message.url is not None:
                    self._transport.connection.learn(message.url)
                yield message
            elif message:
                gap = True


class _Socket:
    def __init__(self, transport: AsyncTransport, url: str, headers: Mapping[str, str], path: str) -> None:
        self._transport = transport
        self._url = url
        self._headers = headers
        self._path = path
        self._socket: Any = None

    async def __aenter__(self) -> Any:
        try:
            self._socket = await self._transport.sockets.ws_connect(
                self._url, headers=self._headers, heartbeat=SILENCE, max_msg_size=0
            )
        except aiohttp.WSServerHandshakeError as error:
            # A plain HTTP request to the same URL returns the reason as an error.
            await self._transport.send(Call("GET", self._path))
            base = self._transport.connection.base
            raise RelayUnreachableError(f"{base} did not open a WebSocket.") from error
        return self._socket

    async def __aexit__(self, *_: object) -> None:
        if self._socket is not None:
            await self._socket.close()


class AsyncThreads:
    """Asynchronous form of :class:`contextrelay.threads.Threads`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._flows = ThreadFlows()

    create = awaited(ThreadFlows.create)
    list = awaited(ThreadFlows.list)
    get = awaited(ThreadFlows.get)
    delete = awaited(ThreadFlows.delete)
    state = awaited(ThreadFlows.state)
    header = awaited(ThreadFlows.header)
    patch = awaited(ThreadFlows.patch)
    diff = awaited(ThreadFlows.diff)
    revert = awaited(ThreadFlows.revert)
    events = awaited(ThreadFlows.events)
    append = awaited(ThreadFlows.append)
    put_artifact = awaited(ThreadFlows.put_artifact)
    artifacts = awaited(ThreadFlows.artifacts)
    artifact = awaited(ThreadFlows.artifact)
    artifact_bytes = awaited(ThreadFlows.artifact_bytes)
    artifact_part = awaited(ThreadFlows.artifact_part)
    delete_artifact = awaited(ThreadFlows.delete_artifact)
    search = awaited(ThreadFlows.search)
    stats = awaited(ThreadFlows.stats)
    render = awaited(ThreadFlows.render)
    report = awaited(ThreadFlows.report)
    capabilities = awaited(ThreadFlows.capabilities)
    invoke = awaited(ThreadFlows.invoke)


class AsyncTasks:
    """Asynchronous form of :class:`contextrelay.tasks.Tasks`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._flows = TaskFlows()

    list = awaited(TaskFlows.list)
    get = awaited(TaskFlows.get)
    done = awaited(TaskFlows.done)
    fail = awaited(TaskFlows.fail)
    cancel = awaited(TaskFlows.cancel)
    agents = awaited(TaskFlows.agents)


class AsyncFiles:
    """Asynchronous form of :class:`contextrelay.files.Files`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._flows = FileFlows()

    def space(self, name: str) -> AsyncSpace:
        """Returns a space by its name. Writing the first file creates the space."""
        return AsyncSpace(self._transport, name)

    spaces = awaited(FileFlows.spaces)


class AsyncSpace:
    """Asynchronous form of :class:`contextrelay.Space`."""

    def __init__(self, transport: AsyncTransport, name: str) -> None:
        self._transport = transport
        self._flows = SpaceFlows(name)
        self.name = name

    put = awaited(SpaceFlows.put)
    bytes = awaited(SpaceFlows.bytes)
    text = awaited(SpaceFlows.text)
    json = awaited(SpaceFlows.json)
    part = awaited(SpaceFlows.part)
    info = awaited(SpaceFlows.info)
    log = awaited(SpaceFlows.log)
    delete = awaited(SpaceFlows.delete)
    list = awaited(SpaceFlows.list)
    all = awaited(SpaceFlows.all)
    read = awaited(SpaceFlows.read)
    write = awaited(SpaceFlows.write)
    remove = awaited(SpaceFlows.remove)
