"""Threads: versioned state, artifacts and an event log. docs/api.md describes the fields of the answers."""

from __future__ import annotations

import base64
from typing import Any, List, Mapping, Optional, Sequence, Union

from .parts import Part, PartRequest, part_of
from .types import (
    Artifact,
    ArtifactCreated,
    ArtifactPage,
    CapabilityInfo,
    DiffAnswer,
    EventPage,
    Header,
    InvokeAnswer,
    PatchAnswer,
    Rendered,
    Report,
    SearchHit,
    State,
    Stats,
    ThreadCreated,
    ThreadEvent,
    ThreadInfo,
    ThreadPage,
)
from .wire import BODY_BYTES, Call, Flow, Operations, ask, blocking, get, post, segment, tell


class ThreadFlows:
    """Operations on threads."""

    def create(self, name: str, *, ttl: Optional[int] = None) -> Flow[ThreadCreated]:
        """Creates a thread: ``{"thread_id", "name", "state_ref", …}``.

        ``ttl``: seconds until the thread expires. Without it, the thread stays until it is deleted.
        """
        return ask(post("/threads", {"name": name, **({} if ttl is None else {"ttl": ttl})}))

    def list(self, *, after: Optional[str] = None, limit: Optional[int] = None) -> Flow[ThreadPage]:
        """Lists threads, newest first: ``{"threads": […], "next"?}``."""
        return ask(get("/threads", after=after, limit=limit))

    def get(self, thread_id: str) -> Flow[ThreadInfo]:
        """Returns name, version, size and times of a thread."""
        return ask(get(_path(thread_id)))

    def delete(self, thread_id: str) -> Flow[None]:
        """Deletes a thread with everything in it."""
        return tell(Call("DELETE", _path(thread_id), repeatable=True))

    def state(self, thread_id: str, *, at: Optional[str] = None) -> Flow[State]:
        """Returns the complete state, in its latest version or in version ``at``, such as ``v3``."""
        return ask(get(_path(thread_id, "state"), at=at))

    def header(self, thread_id: str) -> Flow[Header]:
        """Returns the header: a view of the state with a limited size, for prompts."""
        return ask(get(_path(thread_id, "state/header")))

    def patch(
        self,
        thread_id: str,
        ops: Sequence[Mapping[str, Any]],
        *,
        if_match: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Flow[PatchAnswer]:
        """Applies all operations of a JSON Patch (RFC 6902) or none.

        With ``if_match="v7"``, raises ConflictError if the state has another version.
        """
        headers = {} if if_match is None else {"If-Match": if_match}
        return ask(
            post(_path(thread_id, "state/patch"), list(ops), key=idempotency_key or "", headers=headers)
        )

    def diff(self, thread_id: str, start: str, end: Optional[str] = None) -> Flow[DiffAnswer]:
        """Returns the changes between two versions as a JSON Patch. ``end`` defaults to the latest version."""
        return ask(Call("GET", _path(thread_id, "state/diff"), {"from": start, "to": end}))

    def revert(self, thread_id: str, to: str) -> Flow[PatchAnswer]:
        """Creates a new version with the content of an old version.

        The versions in between stay in the history.
        """
        return ask(post(_path(thread_id, "state/revert"), {"to": to}, key=""))

    def events(
        self, thread_id: str, *, after: Optional[str] = None, limit: Optional[int] = None
    ) -> Flow[EventPage]:
        """Lists events, oldest first: ``{"events": […], "next"?}``.

        With ``after``, the list starts after the event with this id.
        """
        return ask(get(_path(thread_id, "events"), after=after, limit=limit))

    def append(self, thread_id: str, type: str, payload: Mapping[str, Any]) -> Flow[ThreadEvent]:
        """Appends an event of your own type to the log."""
        return ask(post(_path(thread_id, "events"), {"type": type, "payload": dict(payload)}))

    def put_artifact(
        self,
        thread_id: str,
        content: Union[str, bytes],
        *,
        name: Optional[str] = None,
        type: Optional[str] = None,
        mime: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Flow[ArtifactCreated]:
        """Stores content as a new artifact and returns the artifact: ``{"ref", "preview", "size", …}``.

        ``type``: type of the artifact. Default: derived from its name and media type.
        ``mime``: media type of the content.
        ``idempotency_key``: repeated calls with the same idempotency key store only one artifact.
        """
        text = content if isinstance(content, str) else base64.b64encode(content).decode("ascii")
        fields = {"name": name, "type": type, "mime": mime}
        value = {
            "content": text,
            "encoding": "utf8" if isinstance(content, str) else "base64",
            **{field: value for field, value in fields.items() if value is not None},
        }
        return ask(post(_path(thread_id, "artifacts"), value, key=idempotency_key or ""))

    def artifacts(
        self, thread_id: str, *, after: Optional[str] = None, limit: Optional[int] = None
    ) -> Flow[ArtifactPage]:
        """Lists artifacts, newest first: ``{"artifacts": […], "next"?}``."""
        return ask(get(_path(thread_id, "artifacts"), after=after, limit=limit))

    def artifact(self, thread_id: str, ref: str) -> Flow[Artifact]:
        """Returns preview, hash and origin of an artifact, without its content."""
        return ask(get(_path(thread_id, f"artifacts/{segment(ref)}")))

    def artifact_bytes(self, thread_id: str, ref: str) -> Flow[bytes]:
        """Returns the content of an artifact."""
        path = _path(thread_id, f"artifacts/{segment(ref)}")
        answer = yield Call("GET", path, {"raw": True}, most=BODY_BYTES)
        return answer.body

    def artifact_part(
        self,
        thread_id: str,
        ref: str,
        part: Optional[PartRequest] = None,
        *,
        lines: Optional[str] = None,
        grep: Optional[str] = None,
        json: Optional[str] = None,
        outline: bool = False,
        context: Optional[int] = None,
        ignore_case: bool = False,
        question: Optional[str] = None,
    ) -> Flow[Part]:
        """Returns a part of an artifact.

        Pass ``part``, or one of ``lines``, ``grep``, ``json``, ``outline`` and ``question``.
        """
        part = part or part_of(lines, grep, json, outline, context, ignore_case, question) or PartRequest()
        path = _path(thread_id, f"artifacts/{segment(ref)}/part")
        answer = yield from ask(Call("GET", path, part.query()))
        return Part(answer["text"], answer["about"], answer["truncated"])

    def delete_artifact(self, thread_id: str, ref: str) -> Flow[None]:
        """Deletes the content of an artifact permanently. The hash, the name and an event in the log stay."""
        return tell(Call("DELETE", _path(thread_id, f"artifacts/{segment(ref)}"), repeatable=True))

    def search(self, thread_id: str, q: str, *, limit: Optional[int] = None) -> Flow[List[SearchHit]]:
        """Returns the passages that match a query, best match first: ``{"ref", "name", "snippet", "line", "score"}``."""
        answer = yield from ask(get(_path(thread_id, "search"), q=q, limit=limit))
        return list(answer["hits"])

    def stats(self, thread_id: str) -> Flow[Stats]:
        """Returns how many tokens the thread has saved."""
        return ask(get(_path(thread_id, "stats")))

    def render(
        self, thread_id: str, words: Optional[str] = None, *, format: str = "openai"
    ) -> Flow[Rendered]:
        """Returns the thread as prompt messages, in the format ``openai`` or ``anthropic``.

        ``words``: the question. It is added at the end, and it determines which parts the previews show.
        """
        body = {} if words is None else {"words": words}
        return ask(post(f"/render/{segment(thread_id)}", body, query={"format": format}))

    def report(self, thread_id: str, *, format: str = "md") -> Flow[Report]:
        """Generates a report of the thread and stores it as an artifact."""
        return ask(post(f"/reports/{segment(thread_id)}", {"format": format}))

    def capabilities(self) -> Flow[List[CapabilityInfo]]:
        """Lists the capabilities that :meth:`invoke` can run."""
        answer = yield from ask(get("/cap/list"))
        return list(answer["capabilities"])

    def invoke(
        self, thread_id: str, capability: str, args: Optional[Mapping[str, Any]] = None
    ) -> Flow[InvokeAnswer]:
        """Runs a capability and stores its result as an artifact."""
        value = {"capability": capability, "thread_id": thread_id, "args": dict(args or {})}
        return ask(post("/cap/invoke", value, key=""))


def _path(thread_id: str, rest: str = "") -> str:
    return f"/threads/{segment(thread_id)}" + (f"/{rest}" if rest else "")


class Threads(Operations):
    """``relay.threads``: the threads, which several agents share."""

    _flows = ThreadFlows()

    create = blocking(ThreadFlows.create)
    list = blocking(ThreadFlows.list)
    get = blocking(ThreadFlows.get)
    delete = blocking(ThreadFlows.delete)
    state = blocking(ThreadFlows.state)
    header = blocking(ThreadFlows.header)
    patch = blocking(ThreadFlows.patch)
    diff = blocking(ThreadFlows.diff)
    revert = blocking(ThreadFlows.revert)
    events = blocking(ThreadFlows.events)
    append = blocking(ThreadFlows.append)
    put_artifact = blocking(ThreadFlows.put_artifact)
    artifacts = blocking(ThreadFlows.artifacts)
    artifact = blocking(ThreadFlows.artifact)
    artifact_bytes = blocking(ThreadFlows.artifact_bytes)
    artifact_part = blocking(ThreadFlows.artifact_part)
    delete_artifact = blocking(ThreadFlows.delete_artifact)
    search = blocking(ThreadFlows.search)
    stats = blocking(ThreadFlows.stats)
    render = blocking(ThreadFlows.render)
    report = blocking(ThreadFlows.report)
    capabilities = blocking(ThreadFlows.capabilities)
    invoke = blocking(ThreadFlows.invoke)
