"""Threads: versioned state, artifacts, events. The shapes of the answers are those of docs/api.md."""

from __future__ import annotations

import base64
from typing import Any, List, Mapping, Optional, Sequence, Union

from .parts import Part, PartRequest, part_of
from .transport import Transport
from .wire import BODY_BYTES, Call, Flow, JsonObject, ask, get, post, segment, tell


class ThreadFlows:
    def create(self, name: str, ttl: Optional[int]) -> Flow[JsonObject]:
        return ask(post("/threads", {"name": name, **({} if ttl is None else {"ttl": ttl})}))

    def list(self, after: Optional[str], limit: Optional[int]) -> Flow[JsonObject]:
        return ask(get("/threads", after=after, limit=limit))

    def get(self, thread_id: str) -> Flow[JsonObject]:
        return ask(get(_path(thread_id)))

    def delete(self, thread_id: str) -> Flow[None]:
        return tell(Call("DELETE", _path(thread_id), repeatable=True))

    def state(self, thread_id: str, at: Optional[str]) -> Flow[JsonObject]:
        return ask(get(_path(thread_id, "state"), at=at))

    def header(self, thread_id: str) -> Flow[JsonObject]:
        return ask(get(_path(thread_id, "state/header")))

    def patch(
        self, thread_id: str, ops: Sequence[Mapping[str, Any]], if_match: Optional[str], key: Optional[str]
    ) -> Flow[JsonObject]:
        headers = {} if if_match is None else {"If-Match": if_match}
        return ask(post(_path(thread_id, "state/patch"), list(ops), key=key or "", headers=headers))

    def diff(self, thread_id: str, start: str, end: Optional[str]) -> Flow[JsonObject]:
        return ask(Call("GET", _path(thread_id, "state/diff"), {"from": start, "to": end}))

    def revert(self, thread_id: str, to: str) -> Flow[JsonObject]:
        return ask(post(_path(thread_id, "state/revert"), {"to": to}, key=""))

    def events(self, thread_id: str, after: Optional[str], limit: Optional[int]) -> Flow[JsonObject]:
        return ask(get(_path(thread_id, "events"), after=after, limit=limit))

    def append(self, thread_id: str, type: str, payload: Mapping[str, Any]) -> Flow[JsonObject]:
        return ask(post(_path(thread_id, "events"), {"type": type, "payload": dict(payload)}))

    def put_artifact(
        self,
        thread_id: str,
        content: Union[str, bytes],
        name: Optional[str],
        type: Optional[str],
        mime: Optional[str],
        key: Optional[str],
    ) -> Flow[JsonObject]:
        text = content if isinstance(content, str) else base64.b64encode(content).decode("ascii")
        said = {"name": name, "type": type, "mime": mime}
        value = {
            "content": text,
            "encoding": "utf8" if isinstance(content, str) else "base64",
            **{field: value for field, value in said.items() if value is not None},
        }
        return ask(post(_path(thread_id, "artifacts"), value, key=key or ""))

    def artifacts(self, thread_id: str, after: Optional[str], limit: Optional[int]) -> Flow[JsonObject]:
        return ask(get(_path(thread_id, "artifacts"), after=after, limit=limit))

    def artifact(self, thread_id: str, ref: str) -> Flow[JsonObject]:
        return ask(get(_path(thread_id, f"artifacts/{segment(ref)}")))

    def artifact_bytes(self, thread_id: str, ref: str) -> Flow[bytes]:
        path = _path(thread_id, f"artifacts/{segment(ref)}")
        answer = yield Call("GET", path, {"raw": True}, most=BODY_BYTES)
        return answer.body

    def artifact_part(self, thread_id: str, ref: str, part: PartRequest) -> Flow[Part]:
        path = _path(thread_id, f"artifacts/{segment(ref)}/part")
        answer = yield from ask(Call("GET", path, part.query()))
        return Part(answer["text"], answer["about"], answer["truncated"])

    def delete_artifact(self, thread_id: str, ref: str) -> Flow[None]:
        return tell(Call("DELETE", _path(thread_id, f"artifacts/{segment(ref)}"), repeatable=True))

    def search(self, thread_id: str, q: str, limit: Optional[int]) -> Flow[List[JsonObject]]:
        answer = yield from ask(get(_path(thread_id, "search"), q=q, limit=limit))
        return list(answer["hits"])

    def stats(self, thread_id: str) -> Flow[JsonObject]:
        return ask(get(_path(thread_id, "stats")))

    def render(self, thread_id: str, words: Optional[str], format: str) -> Flow[JsonObject]:
        said = {} if words is None else {"words": words}
        return ask(post(f"/render/{segment(thread_id)}", said, query={"format": format}))

    def report(self, thread_id: str, format: str) -> Flow[JsonObject]:
        return ask(post(f"/reports/{segment(thread_id)}", {"format": format}))

    def capabilities(self) -> Flow[List[JsonObject]]:
        answer = yield from ask(get("/cap/list"))
        return list(answer["capabilities"])

    def invoke(self, thread_id: str, capability: str, args: Mapping[str, Any]) -> Flow[JsonObject]:
        value = {"capability": capability, "thread_id": thread_id, "args": dict(args)}
        return ask(post("/cap/invoke", value, key=""))


def _path(thread_id: str, rest: str = "") -> str:
    return f"/threads/{segment(thread_id)}" + (f"/{rest}" if rest else "")


class Threads:
    """``relay.threads``: the memory that several agents work on."""

    def __init__(self, transport: Transport) -> None:
        self._run = transport.run
        self._flows = ThreadFlows()

    def create(self, name: str, *, ttl: Optional[int] = None) -> JsonObject:
        """``{"thread_id", "name", "state_ref", …}``. ``ttl`` in seconds; without one it stays."""
        return self._run(self._flows.create(name, ttl))

    def list(self, *, after: Optional[str] = None, limit: Optional[int] = None) -> JsonObject:
        """``{"threads": […], "next"?}``, newest first."""
        return self._run(self._flows.list(after, limit))

    def get(self, thread_id: str) -> JsonObject:
        return self._run(self._flows.get(thread_id))

    def delete(self, thread_id: str) -> None:
        self._run(self._flows.delete(thread_id))

    def state(self, thread_id: str, *, at: Optional[str] = None) -> JsonObject:
        """The whole memory, as it is or at a version such as ``v3``."""
        return self._run(self._flows.state(thread_id, at))

    def header(self, thread_id: str) -> JsonObject:
        """The bounded view of the state that goes into a prompt."""
        return self._run(self._flows.header(thread_id))

    def patch(
        self,
        thread_id: str,
        ops: Sequence[Mapping[str, Any]],
        *,
        if_match: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> JsonObject:
        """JSON Patch (RFC 6902), whole or not at all. ``if_match="v7"`` raises ConflictError at another version."""
        return self._run(self._flows.patch(thread_id, ops, if_match, idempotency_key))

    def diff(self, thread_id: str, start: str, end: Optional[str] = None) -> JsonObject:
        return self._run(self._flows.diff(thread_id, start, end))

    def revert(self, thread_id: str, to: str) -> JsonObject:
        return self._run(self._flows.revert(thread_id, to))

    def events(
        self, thread_id: str, *, after: Optional[str] = None, limit: Optional[int] = None
    ) -> JsonObject:
        """``{"events": […], "next"?}``, oldest first."""
        return self._run(self._flows.events(thread_id, after, limit))

    def append(self, thread_id: str, type: str, payload: Mapping[str, Any]) -> JsonObject:
        """An event of your own kind."""
        return self._run(self._flows.append(thread_id, type, payload))

    def put_artifact(
        self,
        thread_id: str,
        content: Union[str, bytes],
        *,
        name: Optional[str] = None,
        type: Optional[str] = None,
        mime: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> JsonObject:
        """The artifact: ``{"ref", "preview", "size", …}``."""
        flow = self._flows.put_artifact(thread_id, content, name, type, mime, idempotency_key)
        return self._run(flow)

    def artifacts(
        self, thread_id: str, *, after: Optional[str] = None, limit: Optional[int] = None
    ) -> JsonObject:
        """``{"artifacts": […], "next"?}``, newest first."""
        return self._run(self._flows.artifacts(thread_id, after, limit))

    def artifact(self, thread_id: str, ref: str) -> JsonObject:
        """Preview, hash and provenance, without the content."""
        return self._run(self._flows.artifact(thread_id, ref))

    def artifact_bytes(self, thread_id: str, ref: str) -> bytes:
        return self._run(self._flows.artifact_bytes(thread_id, ref))

    def artifact_part(
        self,
        thread_id: str,
        ref: str,
        *,
        lines: Optional[str] = None,
        grep: Optional[str] = None,
        json: Optional[str] = None,
        outline: bool = False,
        context: Optional[int] = None,
        ignore_case: bool = False,
    ) -> Part:
        part = part_of(lines, grep, json, outline, context, ignore_case) or PartRequest()
        return self._run(self._flows.artifact_part(thread_id, ref, part))

    def delete_artifact(self, thread_id: str, ref: str) -> None:
        self._run(self._flows.delete_artifact(thread_id, ref))

    def search(self, thread_id: str, q: str, *, limit: Optional[int] = None) -> List[JsonObject]:
        """Passages of artifacts, best first: ``{"ref", "name", "snippet", "line", "score"}``."""
        return self._run(self._flows.search(thread_id, q, limit))

    def stats(self, thread_id: str) -> JsonObject:
        """What the thread has saved in tokens."""
        return self._run(self._flows.stats(thread_id))

    def render(self, thread_id: str, words: Optional[str] = None, *, format: str = "openai") -> JsonObject:
        """The thread as the messages of a prompt, for ``openai`` or ``anthropic``."""
        return self._run(self._flows.render(thread_id, words, format))

    def report(self, thread_id: str, *, format: str = "md") -> JsonObject:
        return self._run(self._flows.report(thread_id, format))

    def capabilities(self) -> List[JsonObject]:
        return self._run(self._flows.capabilities())

    def invoke(self, thread_id: str, capability: str, args: Optional[Mapping[str, Any]] = None) -> JsonObject:
        return self._run(self._flows.invoke(thread_id, capability, args or {}))
