"""The client for asyncio. It needs the extra ``contextrelay[async]``.

async with AsyncContextRelay() as relay:
    url = await relay.push(large_text)
    async for message in relay.messages("reviews"): ...
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from typing import (
    Any,
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    List,
    Optional,
    Set,
    Union,
)

try:
    import aiohttp
except ImportError as missing:  # pragma: no cover
    raise ImportError(
        "contextrelay.aio needs the extra 'async'. In a clone of ContextRelay, run: pip install './python[async]'"
    ) from missing

from .agents import AgentFlows
from .channels import (
    SILENCE,
    Backoff,
    ChannelFlows,
    Message,
    Resume,
    Since,
    is_pattern,
    parse_message,
    resume_time,
    socket_path,
)
from .client import RelayClient
from .connection import Connection, Deadline, is_passing, no_answer, untrusted
from .encryption import ChannelKeys
from .errors import RelayError, RelayHTTPError, RelayUnreachableError
from .files import FileFlows, SpaceFlows
from .pointers import PointerFlows
from .questions import QuestionFlows, answered
from .tasks import TaskFlows
from .threads import ThreadFlows
from .wire import Answer, Call, Flow, Operations, T, awaited, redirected

__all__ = ["AsyncContextRelay", "AsyncSubscription"]

log = logging.getLogger("contextrelay")


class AsyncTransport:
    """Sends calls to the relay over ``aiohttp``."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._session: Optional[aiohttp.ClientSession] = None
        self._sockets: Optional[aiohttp.ClientSession] = None
        self._first: Set[asyncio.Task[None]] = set()

    # An aiohttp session belongs to one event loop. So both sessions are created on first use, inside the
    # loop.

    @property
    def session(self) -> aiohttp.ClientSession:
        """Session for HTTP requests."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None), cookie_jar=aiohttp.DummyCookieJar()
            )
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

    def before_other_calls(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts work for which all later calls wait."""
        task = asyncio.get_running_loop().create_task(work)
        self._first.add(task)
        task.add_done_callback(self._first.discard)
        # Read the exception, because asyncio logs an error if nobody awaits the task.
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
        return task

    async def run(self, flow: Flow[T]) -> T:
        """Runs a flow: sends each call that the flow yields, and returns the result of the flow."""
        if self._first and asyncio.current_task() not in self._first:
            await asyncio.wait(set(self._first))
        try:
            call = next(flow)
            while True:
                try:
                    if call.delay:
                        await asyncio.sleep(call.delay)
                    answer = await self.send(call)
                except BaseException as error:
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
        deadline = self.connection.deadline(call)
        while True:
            begun = time.monotonic()
            try:
                answer = self.connection.checked(await self._once(call, deadline))
                self.connection.report(call, attempt, begun, answer)
                return answer
            except RelayError as error:
                self.connection.report(call, attempt, begun, None, error)
                # An earlier attempt deleted the object, but the answer to that attempt was lost. So 404
                # means success.
                if attempt > 0 and call.method == "DELETE" and error.status == 404:
                    return Answer(204, {}, b"", call.base or self.connection.base)
                await asyncio.sleep(self.connection.wait(call, error, attempt, deadline))
                attempt += 1

    async def close(self) -> None:
        """Closes the connections."""
        for session in (self._session, self._sockets):
            if session is not None:
                await session.close()

    async def _once(self, call: Call, deadline: Deadline) -> Answer:
        base = call.base or self.connection.base
        url, headers, follow = self.connection.address(call)
        request = self.session.request(
            call.method,
            url,
            params=call.parameters,
            headers=headers,
            data=call.body,
            allow_redirects=follow,
        )
        try:
            async with await asyncio.wait_for(request, deadline.left()) as response:
                body = await _read(response, call, deadline)
                names = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status, names, body, base)
        except (aiohttp.ClientSSLError, aiohttp.ClientConnectorCertificateError) as error:
            raise untrusted(base) from error
        except asyncio.TimeoutError as error:
            raise deadline.late(base) from error
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, RelayError):
                raise
            raise no_answer(base) from error


async def _read(response: aiohttp.ClientResponse, call: Call, deadline: Deadline) -> bytes:
    if call.is_large(response.headers.get("Content-Length")):
        deadline.only_progress()
    pieces: List[bytes] = []
    size = 0
    while True:
        piece = await asyncio.wait_for(response.content.readany(), deadline.left())
        if not piece:
            return b"".join(pieces)
        size += len(piece)
        if size > call.most:
            raise RelayHTTPError(
                f"The answer is longer than {call.most} bytes.", code="too_large", status=413
            )
        pieces.append(piece)


class AsyncContextRelay(RelayClient):
    """Asynchronous form of :class:`contextrelay.ContextRelay`, with the same options. Use one client per event loop."""

    def _open(self, connection: Connection) -> None:
        self._transport = AsyncTransport(connection)
        #: Threads: versioned state, artifacts and an event log.
        self.threads = AsyncThreads(self._transport)
        #: Agents, and messages to them.
        self.agents = AsyncAgents(self._transport)
        #: Questions to people.
        self.questions = AsyncQuestions(self._transport)
        #: Tasks that were sent to agents.
        self.tasks = AsyncTasks(self._transport)
        #: Named files with versions, grouped into spaces.
        self.files = AsyncFiles(self._transport)

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

    ask = awaited(answered(QuestionFlows.ask))

    def messages(
        self,
        channel: str,
        *,
        since: Optional[Since] = None,
        group: Optional[str] = None,
        prefetch: Optional[int] = None,
        max_reconnect_delay: float = 60.0,
    ) -> AsyncSubscription:
        """Subscribes to a channel and returns its messages to loop over::

            async with relay.messages("reviews") as messages:
                async for message in messages: ...

        It has the same options as :meth:`contextrelay.ContextRelay.messages`.
        """
        return AsyncSubscription(
            self._transport,
            channel,
            since=since,
            group=group,
            prefetch=prefetch,
            channel_keys=self._channel_keys,
            max_reconnect_delay=max_reconnect_delay,
        )

    async def subscribe(
        self,
        channel: str,
        callback: Callable[[str], Union[Awaitable[object], object]],
        max_reconnect_delay: float = 60.0,
    ) -> None:
        """Calls ``callback(url)`` for each pointer that is pushed to the channel.

        A result that is awaitable is awaited.

        The call runs until it is cancelled. Exceptions of the callback are logged.
        """
        async with self.messages(channel, max_reconnect_delay=max_reconnect_delay) as messages:
            async for message in messages:
                if message.url is None:
                    continue
                try:
                    result = callback(message.url)
                    if inspect.isawaitable(result):
                        await result
                except Exception:
                    log.exception("A subscriber of %s failed on message %s", message.channel, message.seq)


class AsyncSubscription:
    """Asynchronous form of :class:`contextrelay.Subscription`.

    Every message that is sent after the call of ``messages`` arrives, even if the connection is lost for some time.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        channel: str,
        *,
        since: Optional[Since],
        group: Optional[str],
        prefetch: Optional[int],
        channel_keys: Optional[ChannelKeys],
        max_reconnect_delay: float,
    ) -> None:
        self._transport = transport
        self._channel = channel
        self._since = since
        self._group = group
        self._prefetch = prefetch
        self._keys = channel_keys
        self._backoff = Backoff(max_reconnect_delay)
        self._socket: Optional[aiohttp.ClientWebSocketResponse] = None
        self._loop: Optional[AsyncGenerator[Message, None]] = None
        # Later calls of this client wait for this start, so that no message is lost between the call and the
        # loop.
        self._begun = transport.before_other_calls(self._begin())

    async def __aenter__(self) -> AsyncSubscription:
        await self._begun
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncSubscription:
        return self

    async def __anext__(self) -> Message:
        if self._loop is None:
            self._loop = self._messages()
        return await self._loop.__anext__()

    async def aclose(self) -> None:
        """Closes the subscription and ends the loop."""
        self._begun.cancel()
        if self._loop is not None:
            await self._loop.aclose()
        await self._hang_up()

    async def _begin(self) -> None:
        if self._since is not None or self._group is not None:
            return
        if is_pattern(self._channel):
            # Each channel that a pattern matches has its own sequence numbers, so there is no start position
            # for all of them. Connect now, so that every message from here on arrives. After a lost
            # connection, resume by time.
            self._socket = await self._open()
            self._since = resume_time()
        else:
            self._since = await self._transport.run(ChannelFlows().position(self._channel))

    async def _messages(self) -> AsyncGenerator[Message, None]:
        await self._begun
        resume = Resume(self._since)
        answered = False
        while True:
            self._backoff.begin()
            try:
                if self._socket is None:
                    self._socket = await self._open()
                answered = True
                async for message in self._received(self._socket):
                    if self._group is None and message.seq:
                        if not resume.is_new(message, self._channel):
                            continue
                        self._since = resume.since
                    yield message
            except RelayError as error:
                # If the relay has never answered, the address is probably wrong. Then do not retry.
                if not answered or not is_passing(error):
                    raise
            finally:
                await self._hang_up()
            await asyncio.sleep(self._backoff.wait())

    async def _received(self, socket: aiohttp.ClientWebSocketResponse) -> AsyncIterator[Message]:
        gap = False
        async for frame in socket:
            if frame.type is not aiohttp.WSMsgType.TEXT:
                continue
            message = parse_message(frame.data, self._channel, self._group, self._keys, gap=gap)
            if isinstance(message, Message):
                gap = False
                if message.url is not None:
                    self._transport.connection.learn(message.url)
                yield message
            elif message:
                gap = True

    async def _open(self) -> aiohttp.ClientWebSocketResponse:
        connection = self._transport.connection
        path = socket_path(self._channel, self._since, self._group, self._prefetch)
        url, headers = connection.socket(path)
        opening: Any = self._transport.sockets.ws_connect(
            url, headers=headers, heartbeat=SILENCE, max_msg_size=0
        )
        try:
            socket: aiohttp.ClientWebSocketResponse = await asyncio.wait_for(opening, connection.timeout)
            return socket
        except aiohttp.WSServerHandshakeError as error:
            # A plain HTTP request to the same URL returns the reason as an error.
            await self._transport.send(Call("GET", path))
            raise RelayUnreachableError(
                f"{connection.base} did not open a WebSocket.",
                hint="If a proxy is in front of the relay, check that it passes WebSockets.",
            ) from error
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            if isinstance(error, RelayError):
                raise
            raise no_answer(connection.base) from error

    async def _hang_up(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()


class AsyncThreads(Operations):
    """Asynchronous form of :class:`contextrelay.threads.Threads`."""

    _flows = ThreadFlows()

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


class AsyncAgents(Operations):
    """Asynchronous form of :class:`contextrelay.agents.Agents`."""

    _flows = AgentFlows()

    list = awaited(AgentFlows.list)
    send = awaited(AgentFlows.send)
    messages = awaited(AgentFlows.messages)
    mark_read = awaited(AgentFlows.mark_read)
    conversation = awaited(AgentFlows.conversation)


class AsyncQuestions(Operations):
    """Asynchronous form of ``relay.questions``."""

    _flows = QuestionFlows()

    ask = awaited(QuestionFlows.ask)
    list = awaited(QuestionFlows.list)
    get = awaited(QuestionFlows.get)
    answer = awaited(QuestionFlows.answer)
    link = awaited(QuestionFlows.link)
    withdraw = awaited(QuestionFlows.withdraw)


class AsyncTasks(Operations):
    """Asynchronous form of :class:`contextrelay.tasks.Tasks`."""

    _flows = TaskFlows()

    list = awaited(TaskFlows.list)
    get = awaited(TaskFlows.get)
    done = awaited(TaskFlows.done)
    fail = awaited(TaskFlows.fail)
    cancel = awaited(TaskFlows.cancel)
    agents = awaited(TaskFlows.agents)


class AsyncFiles(Operations):
    """Asynchronous form of :class:`contextrelay.files.Files`."""

    _flows = FileFlows()

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
