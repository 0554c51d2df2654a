"""The blocking client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Callable, Optional

from .agents import Agents
from .channels import ChannelFlows, Since, Subscription, call_with_url
from .connection import TIMEOUT, Connection, RequestReport
from .encryption import ChannelKeys, channel_key
from .files import Files
from .pointers import PointerFlows
from .questions import QuestionFlows, Questions, answered
from .tasks import Tasks
from .threads import Threads
from .transport import Transport
from .wire import blocking

__all__ = ["MANAGED_URL", "ContextRelay"]

#: Address of the managed service of the original ContextRelay. This package never contacts it by itself.
MANAGED_URL = "https://api.contextrelay.dev/v1"


class RelayFlows(PointerFlows, ChannelFlows):
    """Pointer and channel operations of a client. Threads, agents, questions, tasks and files are separate objects."""


class RelayClient(ABC):
    """Set-up that the blocking and the asynchronous client share."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        timeout: float = TIMEOUT,
        *,
        retries: int = 3,
        channel_keys: Optional[ChannelKeys] = None,
        agent: Optional[str] = None,
        on_request: Optional[Callable[[RequestReport], object]] = None,
    ) -> None:
        """Creates a client. It does not contact the relay.

        ``timeout``: maximum seconds that a call takes, including its retries. An upload gets one second more per 128 KB.
        An answer above 1 MiB may take longer, but fails after this time without progress. Subscriptions have no timeout.
        ``retries``: number of retries of a request that is safe to repeat.
        ``channel_keys``: shared encryption keys by channel. Clients with the same key can decrypt each
        other's encrypted payloads on that channel.
        ``agent``: name of the agent that uses this client. Default: ``RELAY_AGENT``. On a relay without API
        keys, this name is the sender. On a relay with API keys, the name of the key is the sender, and others
        see the agent's name next to it.
        ``on_request``: function that is called after each HTTP request, also after one that is retried, for logs.
        """
        self._connection = Connection(
            base_url, api_key, timeout=timeout, retries=retries, agent=agent, on_request=on_request
        )
        self._channel_keys = channel_keys
        self._flows = RelayFlows(self._connection, channel_keys)
        self._open(self._connection)

    @abstractmethod
    def _open(self, connection: Connection) -> None:
        """Creates the transport, and the objects that use it."""

    @property
    def base_url(self) -> str:
        """Address of the relay."""
        return self._connection.base

    @property
    def timeout(self) -> float:
        """Maximum seconds that a call takes, with its retries."""
        return self._connection.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._connection.timeout = seconds

    def has_channel_key(self, channel: str) -> bool:
        """Returns whether this client has the shared encryption key of a channel.

        Without this key, subscribers of the channel cannot decrypt the payloads that this client encrypts.
        """
        return channel_key(self._channel_keys, channel) is not None


class ContextRelay(RelayClient):
    """Client of a relay. It is thread-safe.

    It stores payloads, returns short URLs (pointers) to them, and sends and receives messages on channels. Its attributes
    give access to threads, agents, questions, tasks and files.

    ``base_url``: address of the relay. Default: ``CONTEXTRELAY_URL``, or http://127.0.0.1:7474 if it is
    not set.
    ``api_key``: API key. Default: ``CONTEXTRELAY_API_KEY``. It is sent only to the origin of the base URL.
    """

    def _open(self, connection: Connection) -> None:
        self._transport = Transport(connection)
        #: Threads: versioned state, artifacts and an event log.
        self.threads = Threads(self._transport)
        #: Agents, and messages to them.
        self.agents = Agents(self._transport)
        #: Questions to people.
        self.questions = Questions(self._transport)
        #: Tasks that were sent to agents.
        self.tasks = Tasks(self._transport)
        #: Named files with versions, grouped into spaces.
        self.files = Files(self._transport)

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

    ask = blocking(answered(QuestionFlows.ask))

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
