"""The blocking client."""

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
    """Pointer and channel operations of a client. Threads, tasks and files are separate objects."""


class ContextRelay:
    """Client of a relay. It stores payloads and returns short URLs (pointers) to them. It is thread-safe.

    ``base_url``: address of the relay. Default: ``CONTEXTRELAY_URL``, or http://127.0.0.1:7474 if it is
    not set.
    ``api_key``: API key. Default: ``CONTEXTRELAY_API_KEY``. It is sent only to the origin of the base URL.
    """

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
        """Creates a client. It does not contact the relay.

        ``timeout``: maximum seconds to wait for the start of a response and for each further chunk.
        ``retries``: number of retries of a request that is safe to repeat.
        ``channel_keys``: shared encryption keys by channel. Clients with the same key can decrypt each
        other's encrypted payloads on that channel.
        ``agent``: name of the agent that uses this client. Default: ``RELAY_AGENT``. On a relay without API
        keys it is the sender; with API keys, others see it beside the name of the key.
        """
        connection = Connection(base_url, api_key, timeout=timeout, retries=retries, agent=agent)
        self._transport = Transport(connection)
        self._channel_keys = channel_keys
        self._flows = RelayFlows(connection, channel_keys)
        #: Threads: versioned state, artifacts and an event log.
        self.threads = Threads(self._transport)
        #: Tasks that were sent to agents.
        self.tasks = Tasks(self._transport)
        #: Named files with versions, grouped into spaces.
        self.files = Files(self._transport)

    @property
    def base_url(self) -> str:
        """Address of the relay."""
        return self._transport.connection.base

    @property
    def timeout(self) -> float:
        """Maximum seconds to wait for the start of a response and for each further chunk."""
        return self._transport.connection.timeout

    def __enter__(self) -> ContextRelay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the client's connections."""
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
        """Calls ``callback(url)`` for each pointer that is pushed to the channel.

        The call blocks, so run it in a thread. After a lost connection, it reconnects and continues after
        the last message. Exceptions of the callback are logged.
        """
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
        """Subscribes to a channel and returns its messages to loop over::

            with relay.messages("reviews", since="all") as messages:
                for message in messages: ...

        ``since``: where to start: ``"all"``, a sequence number, or a time in ISO 8601. Default: only new messages.
        ``group``: share the messages with the other members of this group. Each message goes to one member under a lease;
        call :meth:`ack` or :meth:`nack` for each.
        ``prefetch``: number of group messages to hold at once.
        ``max_reconnect_delay``: longest pause in seconds before a reconnect.
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
        """Returns whether this client has the shared encryption key of a channel.

        Without this key, subscribers of the channel cannot decrypt the payloads that this client encrypts.
        """
        return channel_key(self._channel_keys, channel) is not None
