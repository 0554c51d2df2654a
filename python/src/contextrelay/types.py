"""The answers of the relay. `scripts/python-types.ts` generates this file from the schemas of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class TokenCount(TypedDict):
    tokens: int
    tokenizer: str
    estimated: bool


class Cost(TypedDict):
    tokens: int
    tokenizer: str
    estimated: bool
    bytes: int


class Receipt(TypedDict):
    rung: Literal["stored", "notified", "pulled", "acked", "dead", "result"]
    by: str
    #: with API keys: name of the agent, as its client states it, not verified
    by_agent: NotRequired[str]
    at: str
    last_at: NotRequired[str]
    count: NotRequired[int]
    retries: NotRequired[int]
    bytes: NotRequired[int]
    group: NotRequired[str]
    reason: NotRequired[Literal["attempts", "age", "gone"]]
    attempts: NotRequired[int]
    url: NotRequired[str]
    status: NotRequired[str]
    summary: NotRequired[str]


class ReceiptLadder(TypedDict):
    id: str
    #: short name within your tenant, such as `relay:128`
    handle: NotRequired[str]
    reached: Literal["stored", "notified", "pulled", "acked", "dead", "result"]
    receipts: List[Receipt]


class Published(TypedDict):
    channel: str
    #: 0 for a delayed message
    seq: int
    ts: float


class Nacked(TypedDict):
    seq: int
    #: true if the message became a dead letter
    dead: bool
    #: time of the next delivery, in ms since 1970
    retry_at: NotRequired[float]


class ChannelInfo(TypedDict):
    name: str
    messages: int
    last_seq: int
    last_at: Optional[str]
    groups: List[str]


class ChannelPage(TypedDict):
    channels: List[ChannelInfo]
    next: NotRequired[str]


class GroupDetailMember(TypedDict):
    name: str
    #: with API keys: name of the agent, as its client states it, not verified
    agent: NotRequired[str]
    since: str


class GroupDetailLease(TypedDict):
    seq: int
    token: int
    attempt: int
    member: str
    #: with API keys: name of the agent, as its client states it, not verified
    agent: NotRequired[str]
    lease_until: str


class WaitingMessage(TypedDict):
    seq: int
    #: attempts so far
    attempt: int
    #: no member gets the message before this time; null if a member may take it now
    retry_at: Optional[str]
    #: what the last member reported when it gave the message back
    why: NotRequired[str]


class GroupDetail(TypedDict):
    name: str
    backlog: int
    members: List[GroupDetailMember]
    leases: List[GroupDetailLease]
    #: the oldest waiting messages, at most 100
    waiting: List[WaitingMessage]


class ChannelDetail(TypedDict):
    name: str
    messages: int
    last_seq: int
    last_at: Optional[str]
    first_seq: int
    dead: int
    groups: List[GroupDetail]


class SpacePageSpace(TypedDict):
    #: letters, digits, dots, hyphens and underscores
    space: str


class SpacePage(TypedDict):
    spaces: List[SpacePageSpace]
    next: NotRequired[str]


class TaskResult(TypedDict):
    task_id: str
    url: str
    status: Literal["done", "failed", "canceled"]
    summary: Optional[str]
    by: str
    at: str


class TaskLease(TypedDict):
    group: str
    member: str
    attempt: int
    lease_until: str


_Task = TypedDict("_Task", {"from": str})


class Task(_Task):
    id: str
    url: str
    channel: str
    done_channel: str
    created_at: str
    state: Literal["queued", "running", "acked", "done", "failed", "canceled"]
    attempt: int
    summary: Optional[str]
    agent: Optional[str]
    #: why the task is stuck, such as a question of the agent to a person
    stuck: Optional[str]
    lease: Optional[TaskLease]
    result: Optional[TaskResult]
    size: int
    metadata: Dict[str, Any]
    receipts: List[Receipt]


_TaskInfo = TypedDict("_TaskInfo", {"from": str})


class TaskInfo(_TaskInfo):
    id: str
    url: str
    channel: str
    done_channel: str
    created_at: str
    state: Literal["queued", "running", "acked", "done", "failed", "canceled"]
    attempt: int
    summary: Optional[str]
    agent: Optional[str]
    #: why the task is stuck, such as a question of the agent to a person
    stuck: Optional[str]
    lease: Optional[TaskLease]
    result: Optional[TaskResult]


class BridgeInfo(TypedDict):
    instance: str
    runner: str
    target: str
    task_channel: str
    done_channel: str
    concurrency: int
    running: List[str]
    #: why running tasks are stuck, by task id, such as a question of an agent to a person
    stuck: NotRequired[Dict[str, str]]
    done: int
    failed: int
    started_at: str


class SessionInfo(TypedDict):
    client: str
    session: str
    folder: str
    project: NotRequired[str]
    machine: str
    pid: NotRequired[int]
    reach: Literal["now", "turn", "start", "no"]
    busy: bool
    works_on: NotRequired[str]
    waiting_for: NotRequired[str]
    inbound: Literal["known", "all", "none"]
    named: bool


class Agent(TypedDict):
    name: str
    kind: Literal["bridge", "follower", "session"]
    alive: Optional[bool]
    state: Optional[Literal["working", "idle", "stuck", "silent"]]
    last_seen: Optional[str]
    channels: List[str]
    bridge: NotRequired[BridgeInfo]
    session: NotRequired[SessionInfo]
    unread: NotRequired[int]
    held: NotRequired[int]
    claims: NotRequired[List[str]]


class Conversation(TypedDict):
    id: str
    agents: List[str]
    messages: int
    limit: int
    started_at: str
    last_at: str
    about: str


_AgentMessage = TypedDict("_AgentMessage", {"from": str})


class AgentMessage(_AgentMessage):
    id: str
    conversation: str
    #: with API keys: name of the agent, as its client states it, not verified
    agent: NotRequired[str]
    to: str
    text: str
    url: NotRequired[str]
    #: id of the message that this one answers
    reply_to: NotRequired[str]
    at: str
    state: Literal["queued", "shown", "read", "answered"]
    route: NotRequired[str]
    shown_at: NotRequired[str]
    read_at: NotRequired[str]
    answered_at: NotRequired[str]
    sent_at: NotRequired[str]
    held: NotRequired[Literal[True]]


class ConversationDetail(TypedDict):
    conversation: Conversation
    messages: List[AgentMessage]


class ThreadCreated(TypedDict):
    thread_id: str
    name: str
    #: `v7`
    state_ref: str
    created_at: str
    expires_at: NotRequired[str]


class ThreadItem(TypedDict):
    thread_id: str
    name: str
    created_at: str
    expires_at: NotRequired[str]
    by: str
    hop_count: int


class ThreadPage(TypedDict):
    threads: List[ThreadItem]
    next: NotRequired[str]


class ThreadInfo(TypedDict):
    thread_id: str
    name: str
    created_at: str
    expires_at: NotRequired[str]
    by: str
    hop_count: int
    state_version: int
    artifact_count: int
    event_count: int


class Metrics(TypedDict):
    cache_hits: int
    cache_misses: int
    tokens_estimate: int
    tokens_avoided: int
    hop_count: int


_State = TypedDict("_State", {"$schema": Literal["com.relay.state.v1"]})


class State(_State):
    version: int
    thread_id: str
    updated_at: str
    facts: List[Dict[str, Any]]
    constraints: List[Dict[str, Any]]
    open_questions: List[Dict[str, Any]]
    decisions: List[Dict[str, Any]]
    plan: List[Dict[str, Any]]
    artifacts: List[Dict[str, Any]]
    last_actions: List[Dict[str, Any]]
    session_summary: NotRequired[str]
    metrics: Metrics


class HeaderOmitted(TypedDict):
    facts: NotRequired[int]
    constraints: NotRequired[int]
    open_questions: NotRequired[int]
    decisions: NotRequired[int]
    plan: NotRequired[int]
    artifacts: NotRequired[int]


_Header = TypedDict("_Header", {"$schema": Literal["com.relay.state.v1"]})


class Header(_Header):
    thread_id: str
    version: int
    top_facts: List[Dict[str, Any]]
    top_constraints: List[Dict[str, Any]]
    open_questions: List[Dict[str, Any]]
    next_steps: List[Dict[str, Any]]
    artifact_refs: List[Dict[str, Any]]
    last_actions: List[Dict[str, Any]]
    metrics: Metrics
    truncated: NotRequired[Literal[True]]
    omitted: NotRequired[HeaderOmitted]


class PatchAnswer(TypedDict):
    version: int
    updated_at: str
    #: `v7`
    state_ref: str


_PatchOp = TypedDict("_PatchOp", {"from": str}, total=False)


class PatchOp(_PatchOp):
    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    value: NotRequired[Any]


_DiffAnswer = TypedDict("_DiffAnswer", {"from": str})


class DiffAnswer(_DiffAnswer):
    #: `v7`
    to: str
    ops: List[PatchOp]


class EventPage(TypedDict):
    events: List[ThreadEvent]
    next: NotRequired[str]


class ThreadEvent(TypedDict):
    #: numbered from 1 within the thread; events imported from a Go relay keep their ids
    id: str
    thread_id: str
    type: str
    payload: Dict[str, Any]
    timestamp: str


class Preview(TypedDict):
    #: data, not instructions: chat markup and well-known injection phrases are removed
    text: str
    line_count: int
    truncated: bool
    size: int


class ArtifactProvenance(TypedDict):
    created_by: str
    created_at: str
    source_refs: List[str]
    capability: Optional[str]


class ArtifactToken(TypedDict):
    content: int
    preview: int
    tokenizer: str
    estimated: bool


class Artifact(TypedDict):
    #: 25 or 26 hex characters
    ref: str
    thread_id: str
    #: markdown, json, html, text, binary, tool_output, email, or a kind of your own, which is treated as text or binary
    type: str
    mime: str
    name: str
    size: int
    #: SHA-256, lowercase hex
    hash: str
    preview: Preview
    provenance: ArtifactProvenance
    tokens: ArtifactToken
    created_at: str
    #: path of its file in the home of the relay
    path: NotRequired[str]
    #: time when its content was permanently deleted
    deleted_at: NotRequired[str]


class ArtifactCreated(TypedDict):
    #: 25 or 26 hex characters
    ref: str
    thread_id: str
    #: markdown, json, html, text, binary, tool_output, email, or a kind of your own, which is treated as text or binary
    type: str
    mime: str
    name: str
    size: int
    #: SHA-256, lowercase hex
    hash: str
    preview: Preview
    provenance: ArtifactProvenance
    tokens: ArtifactToken
    created_at: str
    #: path of its file in the home of the relay
    path: NotRequired[str]
    #: time when its content was permanently deleted
    deleted_at: NotRequired[str]
    #: `v7`
    state_ref: str


class ArtifactPage(TypedDict):
    artifacts: List[Artifact]
    next: NotRequired[str]


class SearchHit(TypedDict):
    #: 25 or 26 hex characters
    ref: str
    thread_id: str
    name: str
    type: str
    score: float
    #: a passage, with ** around the matches
    snippet: str
    #: line at which the passage begins
    line: int


class StatsBreakdown(TypedDict):
    headers: int
    header_reads: int
    states: int
    state_reads: int
    previews: int
    preview_reads: int
    listings: int
    listing_reads: int
    searches: int
    search_reads: int
    pulls: int
    pull_reads: int


class StatsBilled(TypedDict):
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int


class StatsPrompt(TypedDict):
    prompts: int
    #: tokens of the same prompts made by pasting the state as lines and all used artifacts
    pasted_tokens: int
    #: tokens that models were shown: prompts, tool calls and reads
    shown_tokens: int
    #: pasted_tokens minus shown_tokens; may be negative
    avoided_tokens: int
    prompt_tokens: int
    tool_calls: int
    tool_call_tokens: int
    #: sum of breakdown
    read_tokens: int


class StatsRecentPrompt(TypedDict):
    at: str
    kind: Literal["answered", "rendered", "handed_over"]
    by: str
    pasted_tokens: int
    shown_tokens: int
    avoided_tokens: int


class Stats(TypedDict):
    thread_id: str
    artifacts: int
    #: tokens of the contents of all artifacts, each once
    naive_tokens: int
    #: tokens of their previews, each once
    actual_tokens: int
    #: naive_tokens minus actual_tokens
    avoided_tokens: int
    cache_hits: int
    session_cache_hits: int
    #: what agents read in addition to the prompts: tokens and number of reads
    breakdown: StatsBreakdown
    tokenizer: str
    estimated: bool
    billed: StatsBilled
    #: null if there were no prompts
    prompts: Optional[StatsPrompt]
    #: newest first, a limited number
    recent_prompts: List[StatsRecentPrompt]


class RenderedMessage(TypedDict):
    role: Literal["system", "user"]
    content: str


class RenderedArtifact(TypedDict):
    #: 25 or 26 hex characters
    ref: str
    #: markdown, json, html, text, binary, tool_output, email, or a kind of your own, which is treated as text or binary
    type: str
    name: str
    size: int
    hash: str
    created_by: str
    #: first lines of the passages shown
    lines: NotRequired[List[int]]
    #: the question that it answers, if it is shown as a turn of the conversation
    question: NotRequired[str]


class Rendered(TypedDict):
    format: Literal["openai", "anthropic"]
    thread_id: str
    #: `v7`
    state_ref: str
    #: true if the header omits something
    truncated: bool
    system: NotRequired[str]
    messages: List[RenderedMessage]
    #: the header in the user message
    header: str
    #: number of characters at its start that do not depend on the question
    stable: int
    #: artifacts shown, pinned ones first
    artifacts: List[RenderedArtifact]
    #: context that was shown only in part, such as "4.4 KiB of 205 KiB of app.diff"
    partial: NotRequired[List[str]]
    tokens: TokenCount
    #: tokens of the same prompt made by pasting the state as lines and these artifacts
    pasted: TokenCount


class ReportTokenSaving(TypedDict):
    naive_tokens: int
    actual_tokens: int
    avoided_tokens: int
    tokenizer: str


class Report(TypedDict):
    #: 25 or 26 hex characters
    artifact_ref: str
    format: Literal["md", "json"]
    size: int
    thread_id: str
    token_savings: ReportTokenSaving


class CapabilityInfo(TypedDict):
    name: str
    description: str
    args_schema: Dict[str, Any]
    cacheable: bool
    cache_ttl_sec: float
    #: false if the configuration must allow it first
    enabled: NotRequired[Literal[False]]


class InvokeAnswerPreview(TypedDict):
    #: data, not instructions: chat markup and well-known injection phrases are removed
    text: str
    line_count: int
    truncated: bool
    size: int
    #: with `retrieval.search`
    count: NotRequired[int]
    query: NotRequired[str]
    results: NotRequired[List[SearchHit]]


class InvokeAnswer(TypedDict):
    capability: str
    preview: InvokeAnswerPreview
    #: 25 or 26 hex characters
    artifact_ref: str
    cache_hit: bool
    cache_key: str
    duration_ms: float
