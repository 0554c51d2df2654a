"""The client that blocks."""

from __future__ import annotations

from typing import Callable, Optional

from .channels import ChannelFlows, Since, Subscription, call_with_url
from .connection import Connection
from .encryption import ChannelKeys, channel_key
from .files import Files
from .pointers import PointerFlows
from .tasks import Tasks
from .threads import Threads
from .transport import Transport
from .wire import blocking

__all__ = ["ContextRelay"]


class RelayFlows(PointerFlows, ChannelFlows):
    """What a client does by itself, without its resources."""


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
        self._flows = RelayFlows(connection, channel_keys)
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

    push = blocking(PointerFlows.push)
    push_detailed = blocking(PointerFlows.push_detailed)
    pull = blocking(PointerFlows.pull)
    pull_part = blocking(PointerFlows.pull_part)
    pull_bytes = blocking(PointerFlows.pull_bytes)
    cost = blocking(PointerFlows.cost)
    peek = blocking(PointerFlows.peek)
    inspect = blocking(PointerFlows.inspect)
    renew = blocking(PointerFlows.renew)
    delete = blocking(PointerFlows.delete)
    receipts = blocking(PointerFlows.receipts)
    publish = blocking(ChannelFlows.publish)
    ack = blocking(ChannelFlows.ack)
    nack = blocking(ChannelFlows.nack)
    extend = blocking(ChannelFlows.extend)
    channels = blocking(ChannelFlows.channels)
    channel = blocking(ChannelFlows.channel)

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

    def has_channel_key(self, channel: str) -> bool:
        """Whether subscribers of the channel can read what is pushed there encrypted."""
        return channel_key(self._channel_keys, channel) is not None
