/** All limits and default times of the relay, with the reason if it is not obvious. A limit that only one file uses is in that file. */

const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND = 1000;
const HOUR = 60 * 60 * SECOND;
const DAY = 24 * HOUR;

/** Largest payload, decoded and before encryption. Existing clients rely on this size. */
export const PAYLOAD_BYTES = 25 * MiB;

/** Returns the largest stored size of a payload. Fernet encodes 3 bytes as 4 (base64) and adds a short header. */
export const maxStoredBytes = (payloadBytes: number) => Math.ceil((payloadBytes * 4) / 3) + KiB;
export const STORED_BYTES = maxStoredBytes(PAYLOAD_BYTES);

/** Largest JSON push. JSON may escape every byte as `\u00XX` (6 bytes); the rest is for the other fields. */
export const PUSH_WIRE_BYTES = STORED_BYTES * 6 + 256 * KiB;

/** Largest metadata. It is read on every peek and sent with every channel message, so it must be small. */
export const METADATA_BYTES = 16 * KiB;

/** All fields of a JSON push except `data`. Metadata is the largest of them and may arrive escaped. */
export const PUSH_FIELDS_BYTES = 128 * KiB;

/** Largest JSON body of all other requests. */
export const JSON_BODY_BYTES = 2 * MiB;

/** Deepest nesting of JSON. Deeper input could overflow the stack. */
export const JSON_DEPTH = 64;
/** Maximum number of values in one JSON body. Many small values cost much more memory and time than the same bytes of text. */
export const JSON_VALUES = 200_000;

export const CHANNEL_NAME_CHARS = 256;

/** Long enough for any UUID or hash. */
export const IDEMPOTENCY_KEY_CHARS = 256;

/** Time within which a retried pull with the same idempotency key does not count again. */
export const PULL_RETRY_WINDOW_MS = 5 * 60 * SECOND;
/** Number of free retries of one pull. More would let several readers share a pointer that allows one pull. */
export const PULL_RETRIES = 2;

export const DEFAULT_TTL_MS = DAY;
export const MIN_TTL_MS = SECOND;
/** Longest lifetime of a pointer; a plan may allow less. It equals the limit of files and threads, which may mention pointers. */
export const MAX_TTL_MS = 3650 * DAY;
/** Pointers that one request can renew. */
export const RENEWED_POINTERS = 100;

export const MAX_PULLS = 1_000_000;

/** Matches in one answer to a grep. Clients that need more pull the payload. */
export const GREP_MATCHES = 1_000;
export const GREP_CONTEXT_LINES = 50;
export const GREP_PATTERN_CHARS = 1_000;
/** Largest compiled pattern. Its steps may all run at every character of the text. */
export const GREP_PATTERN_STEPS = 1_000;
/** Timeout of a grep. Normal searches take a fraction of it. */
export const GREP_TIME_MS = 5 * SECOND;
/** Longer lines are cut in a part, with a mark, so that one minified line does not fill the answer. */
export const PART_LINE_CHARS = 16 * KiB;
/** Largest part. It is held in memory and meant for a prompt. */
export const PART_CHARS = MiB;
export const OUTLINE_ENTRIES = 500;
/** Longer lines are cut in an outline. */
export const OUTLINE_LINE_CHARS = 120;
/** Levels of a JSON payload that an outline shows. Clients request deeper levels with a JSON Pointer. */
export const OUTLINE_DEPTH = 4;

/** Longest text whose tokens are counted exactly. For longer texts the number is an estimate and marked so. */
export const TOKEN_COUNT_CHARS = 4 * MiB;
/**
 * Length of a slice for counting tokens. A longer run of characters without a break is cut, which makes the count an
 * estimate. For a text above `TOKEN_COUNT_CHARS`, only sample slices of this length are counted.
 */
export const TOKEN_SLICE_CHARS = 8 * KiB;

/** Worker threads of a server for text processing. Long texts use all but one, which is reserved for short texts. */
export const TEXT_THREADS = 2;
/** Jobs of one tenant that may wait for a worker thread. Further jobs are refused with `overloaded`. */
export const TEXT_JOBS_WAITING = 64;
/** Timeout of a job on one text. The largest payload takes one to two seconds. */
export const TEXT_JOB_TIME_MS = 10 * SECOND;
/** Heap of a worker thread: several times the largest payload as text. */
export const TEXT_JOB_MEMORY_MB = 192;

/** Characters that are scanned for credentials before a push. A scan of this length takes some milliseconds. */
export const SECRET_SCAN_CHARS = MiB;
/** Maximum number of findings of one scan for credentials. */
export const SECRET_FINDINGS = 100;

/** Largest blob that is stored inside the database. This saves one write and blocks the event loop for at most 0.15 ms. */
export const INLINE_BLOB_BYTES = 128 * KiB;

/**
 * Sizes of blobs that a server appends to segment files, unless a blob comes alone and may be inline. Smaller blobs are
 * faster in the database. Larger blobs would be held in memory while they are read.
 */
export const SEGMENT_BLOB_BYTES = { min: 4 * KiB, max: MiB };

/**
 * Largest blob that a server first stores in its database row and writes to its own file after the answer. Larger blobs
 * are written to the file directly, because this would write them three times.
 */
export const LATE_FILE_BYTES = 64 * KiB;

/** Age after which a sweep deletes incomplete uploads and orphaned blobs. */
export const ORPHAN_AGE_MS = HOUR;

/** Largest clock difference to the cluster without a warning. Beyond it, leases and expiry differ between relays. */
export const CLUSTER_CLOCK_TOLERANCE_MS = 5 * SECOND;

/** Longest name inside a store: a key, a stream, or the id of an idempotent entry. */
export const STORE_KEY_BYTES = 2 * KiB;

/** Items in one page of a listing: default and maximum. */
export const PAGE_ITEMS = 100;
export const PAGE_ITEMS_MAX = 1_000;

/** Largest state of a thread, as JSON. */
export const STATE_BYTES = MiB;
/** Maximum number of operations in one patch. */
export const PATCH_OPS = 5_000;
/** Work steps (see WorkMeter) of one patch, about 30 ms. 2 000 moves in a list of 5 000 items need a fifth of it. */
export const PATCH_WORK = 6_000_000;
/** Work steps of one fold of a thread's log (blame, diff, replay, an old state, a bundle check). TEXT_JOB_TIME_MS also applies. */
export const FOLD_WORK = 2_000_000_000;
/** Largest JSON header, in bytes. */
export const HEADER_BYTES = 2 * KiB;
/** Smallest RELAY_TEXT_BYTES of a Worker, so that the tokens of a view are counted exactly. */
export const HEADER_TEXT_BYTES = 4 * KiB;
/** Tokens of the text view of a state, unless the caller sets another number. */
export const VIEW_TOKENS = 500;
/** Items of a view with at most this many tokens are whole. Longer ones are cut. */
export const VIEW_ITEM_TOKENS = 60;
export const VIEW_SUMMARY_TOKENS = 150;
/**
 * Bytes of log after which a new snapshot of the state is written (or the size of the snapshot, if larger). A command folds
 * only the events after the last snapshot, about 40 on average.
 */
export const SNAPSHOT_LOG_BYTES = 32 * KiB;
/** Maximum number of snapshots of a thread. Beyond it every second snapshot is deleted. */
export const SNAPSHOTS = 256;
/** Memory for cached states of all threads together. */
export const STATE_CACHE_BYTES = 64 * MiB;
/** Number of recent idempotency keys that a thread remembers. Retries come within minutes. */
export const THREAD_KEYS = 1_000;
/** Number of recent prompts that the figures of a thread list. The event log has the others. */
export const RECENT_PROMPTS = 20;
/** Largest number of shown tokens that a client may report at once. It exceeds the context of any model. */
export const SHOWN_TOKENS = 100_000_000;
export const THREAD_NAME_CHARS = 200;
/** Longest lifetime of a thread: ten years. Without a ttl it does not expire. */
export const THREAD_TTL_MAX_S = 3650 * 24 * 3600;

/** Compaction keeps this many of the newest actions and refs, and everything that is still referenced. */
export const COMPACT_ACTIONS = 50;
export const COMPACT_REFS = 200;
/** Numbers of actions and refs at which the relay compacts a state automatically. */
export const AUTO_COMPACT_ACTIONS = 500;
export const AUTO_COMPACT_REFS = 1_000;

export const ARTIFACT_BYTES = 50 * MiB;
export const ARTIFACT_NAME_CHARS = 256;
export const ARTIFACT_SOURCES = 100;
/** Largest preview of an artifact. Models get it instead of the content. */
export const PREVIEW_BYTES = 2 * KiB;
/** Bytes of the content that are read to make a preview. */
export const PREVIEW_LOOK_BYTES = MiB;
/** Damaged artifacts that the answer to an export or import lists. The manifest of the bundle lists all. */
export const DAMAGED_NAMED = 100;
/** Default timeout for a model that sends nothing. Some models think for minutes before they answer. */
export const MODEL_SILENCE_MS = 300_000;

/** Largest payload of an envelope. Larger data is sent as a pointer. */
export const ENVELOPE_PAYLOAD_BYTES = 16 * KiB;
export const ENVELOPE_NOTE_CHARS = 280;
/** Maximum number of hops in a thread. It stops agents that answer each other endlessly. */
export const THREAD_HOPS = 50;
export const ENVELOPE_TTL_MAX_S = 7 * 24 * 3600;

/** Largest arguments of a capability. They are stored in the event log and are part of the cache key. */
export const CAPABILITY_ARGS_BYTES = 16 * KiB;
export const CAPABILITY_TIME_MS = 60 * SECOND;
export const CAPABILITY_TTL_MAX_S = 7 * 24 * 3600;
/** Largest page and timeout of `http.fetch`. */
export const FETCH_BYTES = 5 * MiB;
export const FETCH_TIME_MS = 20 * SECOND;
export const FETCH_REDIRECTS = 5;

/** Largest thread bundle. This size needs no ZIP64. */
export const BUNDLE_BYTES = 2 * 1024 * MiB;
export const BUNDLE_ENTRIES = 100_000;
/** Highest compression ratio of a bundle, as protection against ZIP bombs. Deflate reaches 1032:1; normal text stays far below 200:1. */
export const BUNDLE_RATIO = 200;

/** Default retention of a channel: time and number of messages. */
export const CHANNEL_RETENTION_MS = DAY;
export const CHANNEL_MESSAGES = 10_000;
/** Largest signal. Larger data is pushed as a payload. */
export const SIGNAL_BYTES = 16 * KiB;
export const GROUP_NAME_CHARS = 64;
/** Names of agents: the owner of an inbox, the member of a group. */
export const AGENT_NAME_CHARS = 128;

/** Lease of a message in a group. Without an acknowledgement or renewal, another member gets the message after this time. */
export const LEASE_MS = 30 * SECOND;
/** Number of deliveries after which a message becomes a dead letter. */
export const GROUP_ATTEMPTS = 5;
/** Delays before a failed message is delivered again, by attempt, and the longest delay that a group may set. */
export const GROUP_RETRY_MS: readonly number[] = [SECOND, 5 * SECOND, 30 * SECOND, 120 * SECOND];
export const GROUP_RETRY_MAX_MS = HOUR;
/** Messages of a group that are leased or wait for a retry. They are stored in one small record. */
export const GROUP_IN_FLIGHT = 500;
/** Maximum number of messages that one member holds at once. */
export const PREFETCH_MAX = 100;
/** Number of acknowledgements that a group remembers, so that a repeated one succeeds again. */
export const GROUP_ACKS_KEPT = 256;
/** Time after which an unused group is deleted. */
export const GROUP_IDLE_MS = 7 * DAY;
/** Time after which a silent group member counts as gone. Its process reports three times within this time. */
export const MEMBER_TTL_MS = 9 * SECOND;

/** Messages in one answer of an inbox. */
export const INBOX_MESSAGES = 100;
/** Maximum number of channels that one agent follows, and of subscriptions of all agents of a tenant. */
export const INBOX_CHANNELS = 1_000;
export const INBOX_FOLLOWS = 10_000;

/** Interval of pings to WebSockets. A socket that has not answered before the next ping is closed. */
export const PING_EVERY_MS = 30 * SECOND;
/** Bytes that are buffered for a slow reader. Beyond it the connection is closed, and the reader resumes with a new one. */
export const SLOW_READER_BYTES = MiB;
/** Largest frame that a client may send on a channel socket. Clients send only short acknowledgements. */
export const INBOUND_FRAME_BYTES = 4 * KiB;
/** Frames of one socket whose answers are pending or not yet read by the client. */
export const INBOUND_FRAMES_OPEN = 256;
/** Lifetime of a WebSocket ticket. Browsers connect right after they got it. */
export const TICKET_TTL_MS = 30 * SECOND;
/** Interval of heartbeats on event streams. Proxies close silent connections after about a minute. */
export const SSE_HEARTBEAT_MS = 15 * SECOND;

/** Write-behind delay of receipts, from the first pull on. Receipts of this time are written together. */
export const RECEIPT_DELAY_MS = SECOND;
/** Pointers whose receipts wait to be written. Beyond it receipts are dropped, to bound memory. */
export const RECEIPTS_WAITING = 10_000;
/** Readers of a pointer that its receipts list separately. */
export const RECEIPT_READERS = 500;

/** Largest MCP message: the largest payload as a JSON string with common escapes, plus the rest of the message. */
export const MCP_MESSAGE_BYTES = STORED_BYTES + MiB;
/** Largest answer of a tool. A common client cuts answers at 25 000 tokens. */
export const MCP_BUDGET_TOKENS = 20_000;
/** Largest MCP answer over HTTP. It is built in memory before it is sent. */
export const MCP_ANSWER_BYTES = 4 * MiB;
/** Resources that one MCP client may subscribe to. */
export const MCP_WATCHED = 100;
/** Open MCP notification streams of one server. */
export const MCP_STREAMS = 1_000;

/** Time for which a revoked key stays in the list. */
export const KEY_REMEMBERED_MS = 30 * DAY;
/** Longest lifetime of a key: ten years. Without an expiry it is valid until it is revoked. */
export const KEY_TTL_MAX_MS = 3650 * DAY;
/** Longest time for which an old key still works after a rotation. */
export const KEY_GRACE_MAX_MS = 30 * DAY;
/** Interval at which the keys of open sockets and streams are checked again. */
export const KEY_CHECK_MS = 2 * SECOND;
/** Keys whose last-use time waits to be written. Beyond it the times are dropped, to bound memory. */
export const KEY_USE_WAITING = 10_000;
/** Write-behind delay of the last-use time of a key. */
export const KEY_USE_WRITE_MS = 2 * SECOND;
/** Largest number of keys that a plan may allow. */
export const KEYS_MAX = 1_000;

/** Lifetime of a share link in seconds: default (one week) and maximum (90 days). */
export const SHARE_TTL_S = 7 * 24 * 3600;
export const SHARE_TTL_MAX_S = 90 * 24 * 3600;
export const SHARE_NAME_CHARS = 100;
/** Valid share links of one tenant. */
export const SHARES_MAX = 500;

/** Usage is kept for 400 days, so that a month can be compared with the same month of last year. */
export const USAGE_KEPT_MS = 400 * DAY;
/** Write-behind delay of usage figures. */
export const USAGE_WRITE_MS = 5 * SECOND;
/** Usage figures that wait to be written. Beyond it they are dropped, to bound memory. */
export const USAGE_WAITING = 10_000;
/** Write-behind delay of activity. Entries of this time are written together. */
export const ACTIVITY_WRITE_MS = 250;
/** Activity entries of one write that are stored separately. Further entries are only counted. */
export const ACTIVITY_BATCH = 64;
/** Tenants whose activity waits to be written. Beyond it activity is dropped, to bound memory. */
export const ACTIVITY_WAITING = 10_000;
/** Activity writes that are kept: several days of normal work, and about 30 MB at most. */
export const ACTIVITY_WRITES_KEPT = 5_000;
/** Hourly figures are kept for 32 days. */
export const FIGURES_KEPT_MS = 32 * DAY;
/** Longest summary of a task in a list and on the done channel. */
export const TASK_SUMMARY_CHARS = 280;
export const RESULT_SUMMARY_CHARS = 1_000;
/** Tasks in one list. Other tasks are found by id. */
export const TASKS_LISTED = 500;
/** Interval of bridge heartbeats, and time after which a bridge without heartbeats counts as gone. */
export const AGENT_BEAT_MS = 10 * SECOND;
export const AGENT_ALIVE_MS = 35 * SECOND;
/** Time for which a bridge that disappeared is still listed and its channels are remembered. */
export const AGENT_KEPT_MS = DAY;
export const AGENT_INSTANCE_CHARS = 64;
/** Maximum number of tasks that one bridge runs concurrently. */
export const BRIDGE_TASKS = 100;
/** Default timeout of a task, for the agent and for a sender that waits. Existing clients use the same value. */
export const TASK_TIMEOUT_MS = 600 * SECOND;
/** Longest text that says why a task is stuck, including the question of the agent. */
export const TASK_STUCK_CHARS = 600;
/** Largest task that is typed into a terminal. A larger task is typed as one line with its pointer. */
export const TASK_INLINE_BYTES = 2 * KiB;
/** Bytes of agent output that are kept: the end of it, because the outcome is there. */
export const TASK_OUTPUT_BYTES = 8 * MiB;

// Project files, briefs and hooks.

/** Largest brief. Agents read it at the start of every session. */
export const BRIEF_TOKENS = 1_000;
/** Longer lines are cut in a brief. The project file has the rest. */
export const BRIEF_LINE_CHARS = 240;
/** Age after which a todo is due for review. */
export const REVIEW_AGE_MS = DAY;
/** Largest project file. Larger files are not read. */
export const PROJECT_FILE_BYTES = 4 * MiB;
/** Longest text that a tool writes into a project file. */
export const PROJECT_TEXT_CHARS = 10_000;
/** Finished hand-offs that are kept in state.json. */
export const HANDOFFS_KEPT = 20;
/** Longest deadline of a hand-off. */
export const HANDOFF_DEADLINE_MS = 30 * DAY;
/** Interval at which a waiting parent polls state.json. */
export const HANDOFF_POLL_MS = 500;
/** Time for which a command waits for the lock of the project files. */
export const PROJECT_LOCK_WAIT_MS = 30 * SECOND;
/** Age after which a lock of the project files is stale. Writes take milliseconds. A holder that slept checks the lock before it writes. */
export const PROJECT_LOCK_STALE_MS = 60 * SECOND;
/** Timeout of a hook for a remote relay. The agent waits for its hook, so the hook then continues without the relay. */
export const HOOK_REMOTE_MS = 300;
/** Minimum time between two reminders in a session. */
export const REMINDER_GAP_MS = 30 * 60 * SECOND;

// Prompts and pipelines.

/** Artifacts that a prompt shows as previews. */
export const PROMPT_PREVIEWS = 10;
/** Total size of the previews of pinned artifacts, and again of all others. About 1 500 tokens. */
export const PROMPT_PREVIEW_BYTES = 6 * KiB;
/** Passages that a prompt shows because they match the question. Each has about 120 tokens. */
export const PROMPT_PASSAGES = 4;
/** Bytes of one earlier answer that a prompt shows, because the question may refer to it. */
export const PROMPT_ANSWER_BYTES = 600;
/** Bytes of all earlier questions and answers that a prompt shows, newest first. About 500 tokens. */
export const PROMPT_CONVERSATION_BYTES = 2 * KiB;
/** Candidate passages and artifacts from which those of a prompt are chosen, source artifacts first. */
export const PROMPT_SCANNED = 100;
/** Rounds of tool calls before a model must answer, and calls per round. */
export const PULL_ROUNDS = 6;
export const PULL_CALLS = 8;
/** Tokens that one tool call returns, and that all tool calls for one answer return together. */
export const PULL_CALL_TOKENS = 2_000;
export const PULL_TOKENS = 8_000;
/** Most rounds and tokens that a step of a pipeline can allow. */
export const STEP_PULL_ROUNDS = 50;
export const STEP_PULL_TOKENS = 200_000;
/** Passages that one search of a model returns. */
export const PULL_PASSAGES = 6;
/** Longest question of a prompt. A longer text is stored as an artifact, and the prompt shows its preview. */
export const PROMPT_WORDS_BYTES = 64 * KiB;
/** Operations in a patch that a model proposes in its answer. */
export const ANSWER_PATCH_OPS = 50;
/** Characters at the end of an answer that are searched for a patch. */
export const ANSWER_TAIL_CHARS = 64 * KiB;
/** Time for which the answer to an identical prompt is reused. */
export const ANSWER_CACHE_MS = DAY;
/** Default limit of the output tokens of a model. */
export const ANSWER_TOKENS = 8_192;
/** Retries of a request to a busy model provider. */
export const PROVIDER_RETRIES = 2;
/** Largest event in the stream of a model provider. */
export const PROVIDER_EVENT_CHARS = 4 * MiB;

/** Largest pipeline file. */
export const PIPELINE_FILE_BYTES = MiB;
/** Largest pipeline file that is stored in the first event of a run. A larger one is an artifact, which delays the first step. */
export const PIPELINE_EVENT_BYTES = 32 * KiB;
/** Instances of all steps of a run. Each is a process or a model call with its own events. */
export const PIPELINE_STEPS = 1_000;
/** How long the lease of a run lasts. Its holder renews it every third of this. */
export const PIPELINE_HOLD_S = 15;
/** The longest lease of a thread. */
export const THREAD_HOLD_S = 3_600;
export const PIPELINE_PARALLEL = 4;
export const PIPELINE_PARALLEL_MAX = 256;
/** Largest output of one step. Every running step holds its output in memory. */
export const STEP_OUTPUT_BYTES = 16 * MiB;
/** Longest prompt that a run records for a step. Of a longer one only the beginning is recorded. */
export const STEP_PROMPT_CHARS = 8 * KiB;
/** Characters at the end of stderr that are kept as the reason of a failure. */
export const STEP_COMPLAINT_CHARS = 4 * KiB;
/** Largest value that a template puts into an environment variable. Linux limits these to 128 KiB. */
export const STEP_VALUE_BYTES = 100 * KiB;
export const STEP_TIMEOUT_MS = HOUR;
export const STEP_RETRIES_MAX = 20;
export const STEP_BACKOFF_MS = SECOND;
export const STEP_BACKOFF_MAX_MS = 60 * SECOND;
/** Default time for which the cached result of an unchanged step is used. */
export const STEP_CACHE_MS = 7 * DAY;

// Files and spaces. A file may be as large as a payload (`PAYLOAD_BYTES`, or the limit of the plan).

/** Longest name of a space. The name is part of every key of the space and of addresses such as `relay://notes/a.md`. */
export const SPACE_NAME_CHARS = 128;
/** Longest path of a file, as in object stores. With the space and the tenant it fits into a store key. */
export const FILE_PATH_BYTES = 1024;
/** Longest name within a path, as in file systems, so that every file can be saved to a disk. */
export const FILE_NAME_BYTES = 255;

/** Largest metadata of a file. It is sent as an HTTP header and is part of every listing. */
export const FILE_METADATA_BYTES = 4 * 1024;

/** Default number of earlier versions that a file keeps. */
export const FILE_VERSIONS = 20;
/** Maximum number of earlier versions. The history of a file is read at once. */
export const FILE_VERSIONS_MAX = 100;
/** Longest lifetime of a file: ten years. Without a ttl it does not expire. */
export const FILE_TTL_MAX_S = 3650 * 24 * 3600;

/** Files that one request reads, writes or deletes. */
export const FILES_AT_ONCE = 1_000;
/** Total size of the files that one request reads. Larger files are read one by one. */
export const FILES_READ_BYTES = 2 * 1024 * 1024;
/** Largest page of a file listing, as JSON. A page with long metadata ends early. */
export const FILE_PAGE_BYTES = 4 * 1024 * 1024;

// The search index over artifacts.

/** Largest document of the search index. Earlier versions indexed only the first part of an artifact, up to this size. */
export const INDEX_TEXT_CHARS = 1024 * KiB;
/** Size of an index section. Longer texts are indexed in sections, so that a search reads only those that match best. */
export const INDEX_SECTION_BYTES = 32 * KiB;
/** Largest text that is indexed before the answer, in about 2 ms. Longer texts are indexed later by worker threads. */
export const INDEX_AT_ONCE_BYTES = 16 * KiB;
/** Time for which an answer waits until a longer text is indexed. After it, searches report what is still missing. */
export const INDEX_WAIT_MS = 2_000;
/** Incompletely searched artifacts that a search lists. */
export const UNSEARCHED_NAMED = 20;

// The relay as an A2A agent.

/** Time for which an A2A task is kept after its last change. */
export const A2A_TASK_TTL_MS = 7 * DAY;
/** Time after which a waiting A2A call returns the current task, before proxies and clients time out. */
export const A2A_WAIT_MS = 10 * 60 * SECOND;
/** Poll interval of a followed task. Leases and cancellations cause no message, so they are polled. */
export const A2A_POLL_MS = SECOND;
/** Largest message that is stored in the record of its task. Parts above 16 KB are stored separately. */
export const A2A_MESSAGE_BYTES = 32 * KiB;
export const A2A_PARTS = 100;
/** Largest message as JSON, with all its fields. It must fit into an environment variable. */
export const A2A_MESSAGE_JSON_BYTES = 64 * KiB;
/** Largest message that is sent in the metadata of its task. A larger one is sent as a pointer. */
export const A2A_MESSAGE_RIDES_BYTES = 4 * KiB;
/** Longest messageId and contextId of a client. */
export const A2A_ID_CHARS = 256;
/** Newest messages of a task that are kept as its history. */
export const A2A_HISTORY = 100;
export const A2A_HISTORY_BYTES = 256 * KiB;
/** Newest states of a task that are kept. */
export const A2A_STEPS = 50;
/** Artifacts in one answer of an agent. */
export const A2A_ARTIFACTS = 50;
/** Largest A2A request. Clients that do not know our extension put whole files into a message. */
export const A2A_REQUEST_BYTES = STORED_BYTES + MiB;
/** Webhooks of one task. */
export const A2A_WEBHOOKS = 10;
/** Tasks that one list request scans, newest first. */
export const A2A_TASKS_LISTED = 1_000;
export const WEBHOOK_TIME_MS = 10 * SECOND;

// The relay as a Cloudflare Worker. All requests of an isolate share 128 MB of memory, and each has 30 s of CPU time by
// default. The memory figures were measured in a local process with a simulated R2.

/** Longest text that is searched by default: the largest payload. It takes about one second and little memory. */
export const WORKER_TEXT_BYTES = PAYLOAD_BYTES;
/** Longest text that is held in memory, to count its tokens or to parse JSON. It needs up to 30 MB, so several requests fit. */
export const WORKER_HELD_TEXT_BYTES = 4 * MiB;
/** Work steps (see WorkMeter) of one fold of a thread's log, one to two seconds. A Worker has no other thread for it. */
export const WORKER_FOLD_WORK = 200_000_000;
/** Largest MCP or A2A message. It is in memory several times (text, parsed, encoded): up to 10 bytes per byte. */
export const WORKER_MESSAGE_BYTES = 8 * MiB;
/** Largest artifact in JSON. If its name comes after its content, the content is stored twice. */
export const WORKER_JSON_ARTIFACT_BYTES = 8 * MiB;
