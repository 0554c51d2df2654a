"""The client for asyncio. Needs the extra ``contextrelay[async]``.

async with AsyncContextRelay() as relay:
    url = await relay.push(large_text)
    async for message in relay.messages("reviews"): ...
"""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Dict, List, Mapping, Optional, Sequence, Tuple, Union

try:
    import aiohttp
except ImportError as missing:  # pragma: no cover
    raise ImportError(
        "This needs contextrelay[async]: pip install './python[async]' in the clone"
    ) from missing

from .channels import SILENCE, Backoff, ChannelFlows, Message, Since, parse_message, socket_path
from .connection import Connection, is_passing
from .encryption import ChannelKeys, channel_key
from .errors import RelayError, RelayHTTPError, RelayTimeoutError, RelayUnreachableError
from .files import FileContent, FileFlows, FileInfo, FilePage, NewFile
from .parts import Part, PartRequest, part_of
from .pointers import Inspected, PointerFlows, Pushed
from .tasks import TaskFlows
from .threads import ThreadFlows
from .wire import Answer, Call, Flow, JsonObject, T, redirected

__all__ = ["AsyncContextRelay"]

_PIECE = 64 * 1024


class AsyncTransport:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._session: Optional[aiohttp.ClientSession] = None
        self._sockets: Optional[aiohttp.ClientSession] = None

    # Made inside the loop that uses them.

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            seconds = self.connection.timeout
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=seconds, sock_read=seconds)
            self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    @property
    def sockets(self) -> aiohttp.ClientSession:
        """For WebSockets, whose redirects the library would follow."""
        if self._sockets is None or self._sockets.closed:
            trace = aiohttp.TraceConfig()
            trace.on_request_redirect.append(self._refuse_redirect)
            self._sockets = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), trace_configs=[trace])
        return self._sockets

    async def _refuse_redirect(self, *_: object) -> None:
        raise redirected(self.connection.base)

    async def run(self, flow: Flow[T]) -> T:
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
        attempt = 0
        while True:
            try:
                return self.connection.checked(await self._once(call))
            except RelayError as error:
                # The first try deleted it, and only its answer was lost.
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
            hint = "Check the address. On this machine, relay up starts one."
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
    """The same as :class:`contextrelay.ContextRelay`, to be awaited. For one event loop."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        timeout: float = 30,
        *,
        retries: int = 3,
        channel_keys: Optional[ChannelKeys] = None,
    ) -> None:
        connection = Connection(base_url, api_key, timeout=timeout, retries=retries)
        self._transport = AsyncTransport(connection)
        self._channel_keys = channel_keys
        self._pointers = PointerFlows(connection, channel_keys)
        self._channels = ChannelFlows()
        self.threads = AsyncThreads(self._transport)
        self.tasks = AsyncTasks(self._transport)
        self.files = AsyncFiles(self._transport)

    @property
    def base_url(self) -> str:
        return self._transport.connection.base

    async def __aenter__(self) -> AsyncContextRelay:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._transport.close()

    async def push(
        self,
        data: Union[str, bytes],
        channel: Optional[str] = None,
        encrypted: bool = False,
        metadata: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> str:
        return (await self.push_detailed(data, channel, encrypted, metadata, **options)).url

    async def push_detailed(
        self,
        data: Union[str, bytes],
        channel: Optional[str] = None,
        encrypted: bool = False,
        metadata: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> Pushed:
        """``options`` are those of :meth:`contextrelay.ContextRelay.push_detailed`."""
        flow = self._pointers.push(data, channel=channel, encrypted=encrypted, metadata=metadata, **options)
        return await self._transport.run(flow)

    async def pull(
        self,
        url: str,
        *,
        lines: Optional[str] = None,
        grep: Optional[str] = None,
        json: Optional[str] = None,
        outline: bool = False,
        context: Optional[int] = None,
        ignore_case: bool = False,
    ) -> str:
        part = part_of(lines, grep, json, outline, context, ignore_case)
        if part is not None:
            return (await self.pull_part(url, part)).text
        return await self._transport.run(self._pointers.pull(url))

    async def pull_part(self, url: str, part: PartRequest) -> Part:
        return await self._transport.run(self._pointers.pull_part(url, part))

    async def pull_bytes(self, url: str) -> bytes:
        return await self._transport.run(self._pointers.pull_bytes(url))

    async def cost(self, url: str, part: Optional[PartRequest] = None) -> JsonObject:
        return await self._transport.run(self._pointers.cost(url, part))

    async def peek(self, url: str) -> JsonObject:
        return (await self.inspect(url)).metadata

    async def inspect(self, url: str) -> Inspected:
        return await self._transport.run(self._pointers.inspect(url))

    async def renew(self, urls: Sequence[str], *, ttl: Optional[float] = None) -> Dict[str, str]:
        return await self._transport.run(self._pointers.renew(urls, ttl))

    async def delete(self, url: str) -> None:
        await self._transport.run(self._pointers.delete(url))

    async def receipts(self, url: str) -> JsonObject:
        return await self._transport.run(self._pointers.receipts(url))

    async def publish(self, channel: str, msg: Any, *, idempotency_key: Optional[str] = None) -> JsonObject:
        return await self._transport.run(self._channels.publish(channel, msg, idempotency_key))

    async def ack(self, message: Message) -> None:
        await self._transport.run(self._channels.settle(message, "ack"))

    async def nack(self, message: Message) -> JsonObject:
        return await self._transport.run(self._channels.settle(message, "nack"))

    async def extend(self, message: Message) -> None:
        await self._transport.run(self._channels.settle(message, "extend"))

    async def messages(
        self,
        channel: str,
        *,
        since: Optional[Since] = None,
        group: Optional[str] = None,
        prefetch: Optional[int] = None,
        max_reconnect_delay: float = 60.0,
    ) -> AsyncIterator[Message]:
        """The messages of a channel, also after lost connections. Without ``since``, those that come once the loop has
        begun."""
        if since is None and group is None:
            since = await self._transport.run(self._channels.position(channel))
        backoff = Backoff(max_reconnect_delay)
        answered = False
        while True:
            backoff.begin()
            try:
                async with self._open(socket_path(channel, since, group, prefetch)) as socket:
                    answered = True
                    async for message in self._received(socket, channel, group):
                        if group is None and message.seq:
                            since = message.seq
                        yield message
            except RelayError as error:
                if not answered or not is_passing(error):
                    raise
            except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
                # An address where nobody ever answered is an error, not a wait.
                if not answered:
                    said = f"The relay at {self.base_url} does not answer."
                    raise RelayUnreachableError(said) from error
            await asyncio.sleep(backoff.wait())

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
            # The same address over HTTP tells why.
            await self._transport.send(Call("GET", self._path))
            raise RelayUnreachableError(f"{self._transport.connection.base} opens no socket.") from error
        return self._socket

    async def __aexit__(self, *_: object) -> None:
        if self._socket is not None:
            await self._socket.close()


class AsyncThreads:
    """As :class:`contextrelay.threads.Threads`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._run = transport.run
        self._flows = ThreadFlows()

    async def create(self, name: str, *, ttl: Optional[int] = None) -> JsonObject:
        return await self._run(self._flows.create(name, ttl))

    async def list(self, *, after: Optional[str] = None, limit: Optional[int] = None) -> JsonObject:
        return await self._run(self._flows.list(after, limit))

    async def get(self, thread_id: str) -> JsonObject:
        return await self._run(self._flows.get(thread_id))

    async def delete(self, thread_id: str) -> None:
        await self._run(self._flows.delete(thread_id))

    async def state(self, thread_id: str, *, at: Optional[str] = None) -> JsonObject:
        return await self._run(self._flows.state(thread_id, at))

    async def header(self, thread_id: str) -> JsonObject:
        return await self._run(self._flows.header(thread_id))

    async def patch(
        self,
        thread_id: str,
        ops: Sequence[Mapping[str, Any]],
        *,
        if_match: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> JsonObject:
        return await self._run(self._flows.patch(thread_id, ops, if_match, idempotency_key))

    async def events(
        self, thread_id: str, *, after: Optional[str] = None, limit: Optional[int] = None
    ) -> JsonObject:
        return await self._run(self._flows.events(thread_id, after, limit))

    async def append(self, thread_id: str, type: str, payload: Mapping[str, Any]) -> JsonObject:
        return await self._run(self._flows.append(thread_id, type, payload))

    async def put_artifact(
        self,
        thread_id: str,
        content: Union[str, bytes],
        *,
        name: Optional[str] = None,
        type: Optional[str] = None,
        mime: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> JsonObject:
        flow = self._flows.put_artifact(thread_id, content, name, type, mime, idempotency_key)
        return await self._run(flow)

    async def artifact_bytes(self, thread_id: str, ref: str) -> bytes:
        return await self._run(self._flows.artifact_bytes(thread_id, ref))

    async def artifact_part(self, thread_id: str, ref: str, part: PartRequest) -> Part:
        return await self._run(self._flows.artifact_part(thread_id, ref, part))

    async def search(self, thread_id: str, q: str, *, limit: Optional[int] = None) -> "List[JsonObject]":
        return await self._run(self._flows.search(thread_id, q, limit))


class AsyncTasks:
    """As :class:`contextrelay.tasks.Tasks`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._run = transport.run
        self._flows = TaskFlows()

    async def list(
        self, *, channel: Optional[str] = None, state: Optional[str] = None, limit: Optional[int] = None
    ) -> List[JsonObject]:
        return await self._run(self._flows.list(channel, state, limit))

    async def get(self, task: str) -> JsonObject:
        return await self._run(self._flows.get(task))

    async def done(
        self, task: str, data: Optional[str] = None, *, summary: Optional[str] = None
    ) -> JsonObject:
        return await self._run(self._flows.settle(task, "done", {"data": data, "summary": summary}))

    async def fail(
        self, task: str, data: Optional[str] = None, *, summary: Optional[str] = None
    ) -> JsonObject:
        return await self._run(self._flows.settle(task, "fail", {"data": data, "summary": summary}))

    async def cancel(self, task: str, *, reason: Optional[str] = None) -> JsonObject:
        return await self._run(self._flows.settle(task, "cancel", {"reason": reason}))


class AsyncFiles:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def space(self, name: str) -> AsyncSpace:
        return AsyncSpace(self._transport, name)


class AsyncSpace:
    """As :class:`contextrelay.Space`."""

    def __init__(self, transport: AsyncTransport, name: str) -> None:
        self._run = transport.run
        self._flows = FileFlows()
        self.name = name

    async def put(self, path: str, content: Union[str, bytes], **options: Any) -> FileInfo:
        """``options`` are those of :class:`contextrelay.NewFile`."""
        return await self._run(self._flows.put(self.name, NewFile(path, content, **options), None))

    async def bytes(
        self, path: str, *, version: Optional[int] = None, range: Optional[Tuple[int, int]] = None
    ) -> bytes:
        return await self._run(self._flows.bytes(self.name, path, version, range))

    async def part(self, path: str, part: PartRequest, *, version: Optional[int] = None) -> Part:
        return await self._run(self._flows.part(self.name, path, part, version))

    async def info(self, path: str, *, version: Optional[int] = None) -> FileInfo:
        return await self._run(self._flows.info(self.name, path, version))

    async def log(self, path: str) -> "List[FileInfo]":
        return await self._run(self._flows.log(self.name, path))

    async def delete(self, path: str, *, if_match: Optional[str] = None) -> None:
        await self._run(self._flows.delete(self.name, path, if_match))

    async def list(
        self,
        prefix: Optional[str] = None,
        *,
        delimiter: Optional[str] = None,
        after: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> FilePage:
        return await self._run(self._flows.list(self.name, prefix, delimiter, after, limit))

    async def all(self, prefix: Optional[str] = None) -> "List[FileInfo]":
        return await self._run(self._flows.all(self.name, prefix))

    async def read(self, paths: Sequence[str]) -> Dict[str, FileContent]:
        return await self._run(self._flows.read(self.name, paths))

    async def write(self, files: Sequence[NewFile]) -> "List[Union[FileInfo, JsonObject]]":
        return await self._run(self._flows.write(self.name, files))

    async def remove(self, paths: Optional[Sequence[str]] = None, *, prefix: Optional[str] = None) -> int:
        return await self._run(self._flows.remove(self.name, paths, prefix))
