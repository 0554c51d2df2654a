"""The client that blocks."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from .channels import ChannelFlows, Message, Since, Subscription, call_with_url
from .connection import Connection
from .encryption import ChannelKeys, channel_key
from .files import Files
from .parts import Part, PartRequest, part_of
from .pointers import Inspected, PointerFlows, Pushed
from .tasks import Tasks
from .threads import Threads
from .transport import Transport
from .wire import JsonObject

__all__ = ["ContextRelay"]


class ContextRelay:
    """Hands payloads over as short URLs.

    ``base_url`` is ``CONTEXTRELAY_URL`` by default, else the relay on this machine, http://127.0.0.1:7474. ``api_key`` is
    ``CONTEXTRELAY_API_KEY`` by default; it goes to the origin of the base URL and to no other. May be used from
    several threads at once.
    """

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        timeout: float = 30,
        *,
        retries: int = 3,
        channel_keys: Optional[ChannelKeys] = None,
    ) -> None:
        """``timeout`` in seconds, for an answer to begin and for each next piece of it. ``channel_keys``: keys shared with
        others on a channel, so that they can pull what is pushed there encrypted."""
        connection = Connection(base_url, api_key, timeout=timeout, retries=retries)
        self._transport = Transport(connection)
        self._channel_keys = channel_keys
        self._pointers = PointerFlows(connection, channel_keys)
        self._channels = ChannelFlows()
        #: Execution contexts: versioned state, artifacts, events.
        self.threads = Threads(self._transport)
        #: Work given to agents.
        self.tasks = Tasks(self._transport)
        #: Named, versioned files.
        self.files = Files(self._transport)

    @property
    def base_url(self) -> str:
        return self._transport.connection.base

    @property
    def timeout(self) -> float:
        return self._transport.connection.timeout

    def __enter__(self) -> ContextRelay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of its connections."""
        self._transport.close()

    def push(
        self,
        data: Union[str, bytes],
        channel: Optional[str] = None,
        encrypted: bool = False,
        metadata: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> str:
        """Stores a payload of up to 25 MB; gives its URL, which ends in ``#key=…`` where it is encrypted.

        ``channel``: announced there. ``metadata``: can be peeked at; it is never encrypted. ``options``: those of
        :meth:`push_detailed`.
        """
        return self.push_detailed(data, channel, encrypted, metadata, **options).url

    def push_detailed(
        self,
        data: Union[str, bytes],
        channel: Optional[str] = None,
        encrypted: bool = False,
        metadata: Optional[Mapping[str, Any]] = None,
        *,
        ttl: Optional[int] = None,
        max_pulls: Optional[int] = None,
        visibility: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        content_type: Optional[str] = None,
        count: bool = False,
    ) -> Pushed:
        """The same with all that is known of the new pointer.

        ``ttl`` in seconds, a day by default. ``visibility``: ``link``, the URL is enough to pull it, or ``tenant``.
        ``idempotency_key``: the same key with the same content makes one pointer, however often it is pushed.
        ``count``: counts its tokens.
        """
        flow = self._pointers.push(
            data,
            channel=channel,
            encrypted=encrypted,
            metadata=metadata,
            ttl=ttl,
            max_pulls=max_pulls,
            visibility=visibility,
            idempotency_key=idempotency_key,
            content_type=content_type,
            count=count,
        )
        return self._transport.run(flow)

    def pull(
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
        """The payload as text, decrypted where the URL has a key; or a part of it: ``lines="10-40"``,
        ``grep="error"``, ``json="/users/0"``, ``outline=True``."""
        part = part_of(lines, grep, json, outline, context, ignore_case)
        if part is not None:
            return self.pull_part(url, part).text
        return self._transport.run(self._pointers.pull(url))

    def pull_part(self, url: str, part: PartRequest) -> Part:
        """A part, with what it is a part of. Of an encrypted payload it is taken on this side."""
        return self._transport.run(self._pointers.pull_part(url, part))

    def pull_bytes(self, url: str) -> bytes:
        return self._transport.run(self._pointers.pull_bytes(url))

    def cost(self, url: str, part: Optional[PartRequest] = None) -> JsonObject:
        """What it, or a part of it, would cost a model: ``{"tokens", "tokenizer", "estimated", "bytes"}``."""
        return self._transport.run(self._pointers.cost(url, part))

    def peek(self, url: str) -> Dict[str, Any]:
        """The metadata alone; never touches the payload."""
        return self.inspect(url).metadata

    def inspect(self, url: str) -> Inspected:
        """All that is known of it without pulling it: metadata, size, expiry, sender."""
        return self._transport.run(self._pointers.inspect(url))

    def renew(self, urls: Sequence[str], *, ttl: Optional[float] = None) -> Dict[str, str]:
        """Has pointers of this relay live at least ``ttl`` seconds from now; without one, as long as it allows. Gives when those
        that it knows now expire, by their ids."""
        return self._transport.run(self._pointers.renew(urls, ttl))

    def delete(self, url: str) -> None:
        """Revokes it at once."""
        self._transport.run(self._pointers.delete(url))

    def receipts(self, url: str) -> JsonObject:
        """Who was told of a pointer, pulled it, did it: as far as there is evidence."""
        return self._transport.run(self._pointers.receipts(url))

    def subscribe(
        self, channel: str, callback: Callable[[str], object], max_reconnect_delay: float = 60.0
    ) -> None:
        """Calls ``callback(url)`` for each push to the channel. Blocks: run it in a thread. Connections that break are
        opened again, behind the last message. What the callback raises is logged."""
        for message in self.messages(channel, max_reconnect_delay=max_reconnect_delay):
            call_with_url(callback, message)

    def messages(
        self,
        channel: str,
        *,
        since: Optional[Since] = None,
        group: Optional[str] = None,
        prefetch: Optional[int] = None,
        max_reconnect_delay: float = 60.0,
    ) -> Subscription:
        """The messages of a channel, pointers and signals, to loop over::

            with relay.messages("reviews", since="all") as messages:
                for message in messages: ...

        ``group``: shares them with the other members of that group, each under a lease; say :meth:`ack` or
        :meth:`nack` to each.
        """
        return Subscription(
            self._transport,
            channel,
            since=since,
            group=group,
            prefetch=prefetch,
            channel_keys=self._channel_keys,
            max_reconnect_delay=max_reconnect_delay,
        )

    def publish(self, channel: str, msg: Any, *, idempotency_key: Optional[str] = None) -> JsonObject:
        """A signal to all subscribers of a channel, without a payload: ``{"channel", "seq", "ts"}``."""
        return self._transport.run(self._channels.publish(channel, msg, idempotency_key))

    def ack(self, message: Message) -> None:
        """In a group: the work is done."""
        self._transport.run(self._channels.settle(message, "ack"))

    def nack(self, message: Message) -> JsonObject:
        """In a group: gives the work back, for another member."""
        return self._transport.run(self._channels.settle(message, "nack"))

    def extend(self, message: Message) -> None:
        """In a group: still at work. Raises ConflictError once the work is another's."""
        self._transport.run(self._channels.settle(message, "extend"))

    def channels(self, *, after: Optional[str] = None, limit: Optional[int] = None) -> JsonObject:
        """``{"channels": […], "next"?}``."""
        return self._transport.run(self._channels.list(after, limit))

    def channel(self, name: str) -> JsonObject:
        """A channel and its groups: backlog, members, leases."""
        return self._transport.run(self._channels.get(name))

    def has_channel_key(self, channel: str) -> bool:
        """Whether subscribers of the channel can read what is pushed there encrypted."""
        return channel_key(self._channel_keys, channel) is not None
