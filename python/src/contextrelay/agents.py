"""Agents, messages to them, and their conversations."""

from __future__ import annotations

from typing import List, Optional, Sequence, Union

from .types import Agent, AgentMessage, ConversationDetail
from .wire import Flow, Operations, ask, blocking, get, post, segment


class AgentFlows:
    """Operations on agents, their messages and their conversations."""

    def list(self) -> Flow[List[Agent]]:
        """Lists the agents: bridges, sessions and followers, with what they work on and how they are reached."""
        answer = yield from ask(get("/agents"))
        return list(answer["agents"])

    def send(
        self,
        to: Union[str, Sequence[str], None],
        text: str,
        *,
        url: Optional[str] = None,
        reply_to: Optional[str] = None,
        queue: bool = False,
        idempotency_key: Optional[str] = None,
    ) -> Flow[List[AgentMessage]]:
        """Sends a text to agents by name, and returns one message for each.

        ``to``: a name, several names, ``"*"`` for all, or None to answer the sender of ``reply_to``.
        ``url``: a pointer to attach. ``queue``: keep the message for an agent that does not exist yet.
        """
        names = to if to is None or isinstance(to, str) else [*to]
        value = {"to": names, "text": text, "url": url, "reply_to": reply_to, "queue": queue or None}
        fields = {name: field for name, field in value.items() if field is not None or name == "to"}
        answer = yield from ask(post("/messages", fields, key=idempotency_key or ""))
        return list(answer["messages"])

    def messages(self, name: str) -> Flow[List[AgentMessage]]:
        """Lists the messages that wait for an agent, oldest first."""
        answer = yield from ask(get(f"/agents/{segment(name)}/messages"))
        return list(answer["messages"])

    def mark_read(self, name: str, ids: Sequence[str]) -> Flow[List[AgentMessage]]:
        """Records that an agent has read messages."""
        value = {"ids": [*ids], "as": "read"}
        answer = yield from ask(post(f"/agents/{segment(name)}/messages", value, repeatable=True))
        return list(answer["messages"])

    def conversation(self, conversation: str) -> Flow[ConversationDetail]:
        """Returns the messages of a conversation with their receipts."""
        return ask(get(f"/conversations/{segment(conversation)}"))


class Agents(Operations):
    """``relay.agents``: agents, messages to them, and conversations."""

    _flows = AgentFlows()

    list = blocking(AgentFlows.list)
    send = blocking(AgentFlows.send)
    messages = blocking(AgentFlows.messages)
    mark_read = blocking(AgentFlows.mark_read)
    conversation = blocking(AgentFlows.conversation)
