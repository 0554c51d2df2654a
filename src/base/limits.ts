/**
 * Limits and default times of the relay, with a reason where it is not obvious. A limit that only one file
 * uses is in that file.
 */

const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Maximum size of a payload, decoded and before encryption. Existing clients rely on this size. Tool texts
 * (src/sdk/context-tools.ts) and the docs name it.
 */
export const PAYLOAD_BYTES = 25 * MiB;

/**
 * Returns the maximum stored size of a payload. Fernet encryption encodes 3 bytes as 4 (base64) and adds a
 * short header.
 */
export const maxStoredBytes = (payloadBytes: number) => Math.ceil((payloadBytes * 4) / 3) + KiB;
export const STORED_BYTES = maxStoredBytes(PAYLOAD_BYTES);

/** Maximum size of a JSON push. JSON may escape every byte as `\u00XX` (6 bytes). The other fields get 256 KiB. */
export const PUSH_WIRE_BYTES = STORED_BYTES * 6 + 256 * KiB;

/**
 * Maximum size of metadata. It is small, because metadata is read on every peek and sent with every channel message.
 */
export const METADATA_BYTES = 16 * KiB;

/**
 * Maximum size of all fields of a JSON push together, except `data`. Larger than METADATA_BYTES,
 * because JSON escapes can make metadata longer in the request.
 */
export const PUSH_FIELDS_BYTES = 128 * KiB;

/** Maximum size of the JSON body of a request that is not a push. */
export const JSON_BODY_BYTES = 2 * MiB;

/** Maximum nesting depth of JSON. Deeper input could overflow the stack. */
export const JSON_DEPTH = 64;
/**
 * Maximum number of values in one JSON body. Many small values need much more memory and time than one text
 * of the same size.
 */
export const JSON_VALUES = 200_000;

export const CHANNEL_NAME_CHARS = 256;

/** Maximum length of the text that says why a dead letter failed. */
export const DEAD_WHY_CHARS = 2_000;
/**
 * Maximum length of the text that says why an attempt failed, for a message that waits for its next attempt. It is
 * short, because it is part of the state of the group.
 */
export const WAITING_WHY_CHARS = 200;

/** Maximum number of channels that one subscription with wildcards follows. */
export const WILDCARD_CHANNELS = 100;

/** Maximum length of an idempotency key. Every UUID or hash fits. */
export const IDEMPOTENCY_KEY_CHARS = 256;

/** Maximum length of the search words for a list. */
export const SEARCH_WORDS_CHARS = 200;
/** Number of characters of a pointer's summary and metadata that a search looks at. */
export const POINTER_SEARCH_CHARS = 500;

/** Time within which a pull can be retried with its idempotency key without being counted again. */
export const PULL_RETRY_WINDOW_MS = 5 * 60 * SECOND;
/**
 * Maximum number of retries of one pull that are not counted. With more retries, several clients could share a
 * pointer that allows only one pull.
 */
export const PULL_RETRIES = 2;
/**
 * Maximum number of looks (outlines, counts and searches) at an encrypted payload that one counted pull covers. For
 * each look the client downloads the payload, because only the client can decrypt it.
 */
export const PULL_LOOKS = 100;

/** Lifetime of a pointer if its sender sets none. Tool texts (src/sdk/context-tools.ts) and the docs name it. */
export const DEFAULT_TTL_MS = DAY;
export const MIN_TTL_MS = SECOND;
/**
 * Maximum lifetime of a pointer. A plan may allow less. Files and threads have the same maximum, because they
 * may contain pointers.
 */
export const MAX_TTL_MS = 3650 * DAY;
/** Lifetime of an output that `relay tee` stores. */
export const OUTPUT_TTL_MS = 7 * DAY;
/** Maximum size of an output that `relay tee` stores. Above `PAYLOAD_BYTES` it is stored in parts. */
export const OUTPUT_BYTES = 256 * MiB;
/** Maximum total size of the outputs that `relay tee` stores. */
export const OUTPUTS_BYTES = 1024 * MiB;
/** Default, minimum and maximum of the tokens that `relay tee` prints. The minimum leaves room for the last line. */
export const OUTPUT_TOKENS = { default: 1_200, min: 200, max: 100_000 };
/** Maximum number of pointers in one answer of a list. */
export const POINTERS_LISTED = 200;
/** Maximum number of pointers that one request renews. */
export const RENEWED_POINTERS = 100;

export const MAX_PULLS = 1_000_000;

/** Maximum number of matches in one answer to a grep. Clients that need more pull the payload. */
export const GREP_MATCHES = 1_000;
export const GREP_CONTEXT_LINES = 50;
export const GREP_PATTERN_CHARS = 1_000;
/** Maximum length of a question about a text, and maximum size of the excerpt that answers it, in tokens. */
export const PART_QUESTION_CHARS = 1_000;
export const PART_ANSWER_TOKENS = 2_500;
/** Maximum number of steps in a compiled pattern. Every character of the text may run all steps. */
export const GREP_PATTERN_STEPS = 1_000;
/** Timeout of a grep. A normal search takes a small fraction of it. */
export const GREP_TIME_MS = 5 * SECOND;
/**
 * Maximum length of a line in a part. Longer lines are cut and marked, so that one minified line does not
 * fill the answer.
 */
export const PART_LINE_CHARS = 16 * KiB;
/** Maximum size of a part. A part is held in memory and is meant for a prompt. */
export const PART_CHARS = MiB;
export const OUTLINE_ENTRIES = 500;
/** Maximum length of a line in an outline. Longer lines are cut. */
export const OUTLINE_LINE_CHARS = 120;
/** Number of levels of a JSON payload that an outline shows. Clients request deeper levels with a JSON Pointer. */
export const OUTLINE_DEPTH = 4;

/**
 * Maximum length of a text whose tokens are counted exactly. For a longer text, the count is an estimate and is
 * marked as one.
 */
export const TOKEN_COUNT_CHARS = 4 * MiB;
/**
 * Length of the slices in which tokens are counted. A run of characters that is longer than a slice is cut, so its
 * count is an estimate. In a text above `TOKEN_COUNT_CHARS`, only a sample of the slices is counted.
 */
export const TOKEN_SLICE_CHARS = 8 * KiB;

/**
 * Number of worker threads of a server for text processing. One thread is reserved for short texts; long
 * texts use the others.
 */
export const TEXT_THREADS = 2;
/** Maximum number of jobs of one tenant that wait for a worker thread. More jobs are refused with `overloaded`. */
export const TEXT_JOBS_WAITING = 64;
/** Timeout of a job on one text. A job on the largest payload takes one to two seconds. */
export const TEXT_JOB_TIME_MS = 10 * SECOND;
/** Time without any progress after which a server closes a connection, because the client is probably gone. */
export const CONNECTION_IDLE_MS = 120 * SECOND;
/**
 * Maximum time that a job waits in one queue. Then it is refused with `overloaded`. A computation over the log of a
 * thread (a fold) waits in two queues. Even after both waits, the client gets its answer before `CONNECTION_IDLE_MS`.
 */
export const TEXT_JOB_WAIT_MS = CONNECTION_IDLE_MS / 2 - TEXT_JOB_TIME_MS;
/** Heap size of a worker thread: several times the size of the largest payload as text. */
export const TEXT_JOB_MEMORY_MB = 192;

/** Number of characters that are scanned for credentials before a push. The scan takes a few milliseconds. */
export const SECRET_SCAN_CHARS = MiB;
/** Maximum number of findings of one scan for credentials. */
export const SECRET_FINDINGS = 100;

/**
 * Maximum size of a blob that is stored inside the database. A blob in the database saves a write, and blocks the
 * event loop for at most 0.15 ms.
 */
export const INLINE_BLOB_BYTES = 128 * KiB;

/**
 * Minimum and maximum size of the blobs that a server appends to segment files. Smaller blobs are faster in the
 * database. Larger blobs would need too much memory while they are read. A blob of up to `INLINE_BLOB_BYTES` goes into
 * the database if nothing else is being written.
 */
export const SEGMENT_BLOB_BYTES = { min: 4 * KiB, max: MiB };

/**
 * Maximum size of a blob that a server first stores in its database row and moves to a file after the answer. A
 * larger blob is written to its file directly, because otherwise it would be written three times.
 */
export const LATE_FILE_BYTES = 64 * KiB;

/** Age after which a sweep deletes incomplete uploads and orphaned blobs. */
export const ORPHAN_AGE_MS = HOUR;

/**
 * The relay warns if its clock and the clock of the cluster differ by more than this. With a larger difference, leases
 * and expiry times differ between relays.
 */
export const CLUSTER_CLOCK_TOLERANCE_MS = 5 * SECOND;

/** Maximum size of a name inside a store: a record key, a stream name, or the id of an idempotent entry. */
export const STORE_KEY_BYTES = 2 * KiB;

/** Default number of items in one page of a listing. */
export const PAGE_ITEMS = 100;
/** Maximum number of items in one page of a listing. */
export const PAGE_ITEMS_MAX = 1_000;

/** Maximum size of the state of a thread, as JSON. */
export const STATE_BYTES = MiB;
/** Maximum number of operations in one patch. */
export const PATCH_OPS = 5_000;
/**
 * Maximum number of work steps (see WorkMeter) of one patch. They take about 30 ms. A patch with 2,000 moves in a list
 * of 5,000 items needs a fifth of these steps.
 */
export const PATCH_WORK = 6_000_000;
/**
 * Maximum number of work steps of one fold of a thread's log (blame, diff, replay, an old state, a bundle check).
 * `TEXT_JOB_TIME_MS` also limits a fold.
 */
export const FOLD_WORK = 2_000_000_000;
/** Maximum size of the JSON header, in bytes. */
export const HEADER_BYTES = 2 * KiB;
/** Minimum of RELAY_TEXT_BYTES in a Worker. A view of a state may be this long, and its tokens must be counted exactly. */
export const HEADER_TEXT_BYTES = 4 * KiB;
/** Default size limit of the text view of a state, in tokens. */
export const VIEW_TOKENS = 500;
export const VIEW_TOKENS_MIN = 100;
export const VIEW_TOKENS_MAX = 100_000;
/** Maximum size of an item in a text view, in tokens. Longer items are cut. */
export const VIEW_ITEM_TOKENS = 60;
export const VIEW_SUMMARY_TOKENS = 150;
/**
 * Number of bytes by which the log of a thread must grow between two snapshots of the state. If the next snapshot would
 * be larger than this, the log must grow by the size of the next snapshot. A command applies only the events after the
 * last snapshot, about 10 on average.
 */
export const SNAPSHOT_LOG_BYTES = 8 * KiB;
/** Maximum number of snapshots of a thread. Above it, every second snapshot is deleted. */
export const SNAPSHOTS = 256;
/** Maximum total size of the cached states of all threads, as JSON. In memory they take 2 to 3.5 times as much. */
export const STATE_CACHE_BYTES = 64 * MiB;
/**
 * Number of recent idempotency keys that a thread remembers. Clients retry within minutes, so older keys are not
 * needed.
 */
export const THREAD_KEYS = 1_000;
/** Number of recent prompts that the token figures of a thread list. The event log lists all prompts. */
export const RECENT_PROMPTS = 20;
/** Maximum number of shown tokens that one report of a client may contain: more than the context of any model. */
export const SHOWN_TOKENS = 100_000_000;
export const THREAD_NAME_CHARS = 200;
/** Maximum lifetime of a thread: ten years. A thread without a ttl does not expire. */
export const THREAD_TTL_MAX_S = 3650 * 24 * 3600;

/** Number of newest actions that compaction keeps. Consecutive equal actions are merged first and count as one. */
export const COMPACT_ACTIONS = 50;
/**
 * Number of newest artifact links that compaction keeps. It also keeps every link whose ref occurs elsewhere in the
 * state.
 */
export const COMPACT_REFS = 200;
/** Number of actions above which the relay compacts a state automatically. */
export const AUTO_COMPACT_ACTIONS = 500;
/** Number of artifact links above which the relay compacts a state automatically. */
export const AUTO_COMPACT_REFS = 1_000;

export const ARTIFACT_BYTES = 50 * MiB;
export const ARTIFACT_NAME_CHARS = 256;
export const ARTIFACT_SOURCES = 100;
/** Default size limit of an excerpt, in tokens. */
export const EXCERPT_TOKENS = 1_200;
/** Highest size limit of an excerpt that a client may set, in tokens. */
export const EXCERPT_MAX_TOKENS = 20_000;
/** Maximum size of the preview of an artifact, which models get instead of the content. */
export const PREVIEW_BYTES = 2 * KiB;
/** Number of bytes of the content that are read to make a preview. */
export const PREVIEW_LOOK_BYTES = MiB;
/**
 * Maximum number of damaged artifacts that an export or import lists in its answer. The manifest of the bundle lists
 * all.
 */
export const DAMAGED_NAMED = 100;
/** Default time without output after which a model times out. Some models think for minutes before they answer. */
export const MODEL_SILENCE_MS = 300_000;

/** Maximum size of the payload of an envelope. Larger data is sent as a pointer. */
export const ENVELOPE_PAYLOAD_BYTES = 16 * KiB;
export const ENVELOPE_NOTE_CHARS = 280;
/** Maximum number of hops (sent envelopes) in a thread. It stops agents that keep answering each other. */
export const THREAD_HOPS = 50;
export const ENVELOPE_TTL_MAX_S = 7 * 24 * 3600;

/** Maximum size of the arguments of a capability, which are stored in the event log and are part of the cache key. */
export const CAPABILITY_ARGS_BYTES = 16 * KiB;
export const CAPABILITY_TIME_MS = 60 * SECOND;
export const CAPABILITY_TTL_MAX_S = 7 * 24 * 3600;
/** Maximum size of a page that `http.fetch` loads. */
export const FETCH_BYTES = 5 * MiB;
/** Timeout of `http.fetch`. */
export const FETCH_TIME_MS = 20 * SECOND;
export const FETCH_REDIRECTS = 5;

/** Maximum size of a thread bundle. A ZIP file of this size does not need ZIP64. */
export const BUNDLE_BYTES = 2 * 1024 * MiB;
export const BUNDLE_ENTRIES = 100_000;
/**
 * Maximum compression ratio of a bundle, as protection against ZIP bombs. Deflate can reach 1032:1. Normal
 * text stays far below 200:1.
 */
export const BUNDLE_RATIO = 200;

/** Default time for which a channel keeps messages. */
export const CHANNEL_RETENTION_MS = DAY;
/** Default number of messages that a channel keeps. */
export const CHANNEL_MESSAGES = 10_000;
/** Maximum size of a signal. Larger data is pushed as a payload. */
export const SIGNAL_BYTES = 16 * KiB;
export const GROUP_NAME_CHARS = 64;
/** Maximum length of the name of an agent. An agent owns an inbox or is a member of a group. */
export const AGENT_NAME_CHARS = 128;

/**
 * Duration of the lease of a message in a group. If the member neither acknowledges the message nor renews the lease
 * in time, another member gets the message.
 */
export const LEASE_MS = 30 * SECOND;
/** Number of deliveries after which a message that was not acknowledged becomes a dead letter. */
export const GROUP_ATTEMPTS = 5;
/** Default delay before each redelivery of a failed message. */
export const GROUP_RETRY_MS: readonly number[] = [SECOND, 5 * SECOND, 30 * SECOND, 120 * SECOND];
/** Maximum delay that a group may set. */
export const GROUP_RETRY_MAX_MS = HOUR;
/**
 * Maximum number of messages of a group that are leased or wait for a retry. One small record contains all of them.
 */
export const GROUP_IN_FLIGHT = 500;
/** Maximum number of messages that one member holds at the same time. */
export const PREFETCH_MAX = 100;
/** Number of recent acknowledgements that a group remembers. If one of them is repeated, the repetition succeeds. */
export const GROUP_ACKS_KEPT = 256;
/** Maximum number of waiting messages that the detail of a group lists. */
export const GROUP_WAITING_LISTED = 100;
/** Time after which an unused group is deleted. */
export const GROUP_IDLE_MS = 7 * DAY;
/** Time after which a silent group member counts as gone. A live member reports three times within this time. */
export const MEMBER_TTL_MS = 9 * SECOND;

/** Maximum delay of a message. */
export const DELAY_MS = 30 * DAY;
/** Maximum number of messages of a tenant that are delayed at one time. */
export const DELAYED_MESSAGES = 10_000;

/** Maximum number of messages in one answer of an inbox. */
export const INBOX_MESSAGES = 100;
/** Maximum number of channels that one agent follows. */
export const INBOX_CHANNELS = 1_000;
/** Maximum number of subscriptions of all agents of a tenant together. */
export const INBOX_FOLLOWS = 10_000;

/** Interval of pings to WebSockets. A socket that has not answered before the next ping is closed. */
export const PING_EVERY_MS = 30 * SECOND;
/**
 * Maximum number of bytes that are buffered for a slow client. Above it, the connection is closed; the client resumes
 * with a new connection.
 */
export const SLOW_READER_BYTES = MiB;
/**
 * Maximum size of a frame that a client sends on a channel socket. Clients send only short acknowledgements.
 */
export const INBOUND_FRAME_BYTES = 4 * KiB;
/** Maximum number of open frames of one socket. A frame is open until the client has read the answer to it. */
export const INBOUND_FRAMES_OPEN = 256;
/** Lifetime of a WebSocket ticket. A browser connects right after it has received the ticket. */
export const TICKET_TTL_MS = 30 * SECOND;
/** Interval of heartbeats on event streams. Proxies close silent connections after about a minute. */
export const SSE_HEARTBEAT_MS = 15 * SECOND;

/**
 * Write-behind delay of receipts, counted from the first pull. Receipts that arrive during the delay are written
 * together.
 */
export const RECEIPT_DELAY_MS = SECOND;
/** Maximum number of pointers whose receipts wait to be written. More receipts are dropped, to limit memory. */
export const RECEIPTS_WAITING = 10_000;
/** Maximum number of receipts of a pointer. Each reader has one receipt per stage, for any number of pulls. */
export const RECEIPT_READERS = 500;

/**
 * Maximum size of an MCP message: the largest payload as a JSON string with common escapes, plus the other fields.
 */
export const MCP_MESSAGE_BYTES = STORED_BYTES + MiB;
/** Maximum size of the answer of a tool, in tokens. A widely used client cuts answers at 25,000 tokens. */
export const MCP_BUDGET_TOKENS = 20_000;
/** Maximum size of an MCP answer over HTTP. The answer is built in memory before it is sent. */
export const MCP_ANSWER_BYTES = 4 * MiB;
/** Maximum number of resources that one MCP client may subscribe to. */
export const MCP_WATCHED = 100;
/** Maximum number of open MCP notification streams of one server. */
export const MCP_STREAMS = 1_000;

/** Time for which a revoked API key stays in the list of keys. */
export const KEY_REMEMBERED_MS = 30 * DAY;
/** Maximum lifetime of an API key: ten years. An API key without an expiry is valid until it is revoked. */
export const KEY_TTL_MAX_MS = 3650 * DAY;
/** Maximum time for which an API key still works after it was replaced by rotation. */
export const KEY_GRACE_MAX_MS = 30 * DAY;
/** Interval at which the API keys of open sockets and streams are checked. */
export const KEY_CHECK_MS = 2 * SECOND;
/** Maximum number of API keys whose last-use time waits to be written. More times are dropped, to limit memory. */
export const KEY_USE_WAITING = 10_000;
/** Write-behind delay of the last-use time of an API key. */
export const KEY_USE_WRITE_MS = 2 * SECOND;
/** Maximum number of API keys that a plan may allow. */
export const KEYS_MAX = 1_000;

/** Default lifetime of a share link in seconds: one week. */
export const SHARE_TTL_S = 7 * 24 * 3600;
/** Maximum lifetime of a share link in seconds: 90 days. */
export const SHARE_TTL_MAX_S = 90 * 24 * 3600;
export const SHARE_NAME_CHARS = 100;
/** Maximum number of valid share links of one tenant. */
export const SHARES_MAX = 500;

/** Default time in seconds that a question to a person stays open: one week. */
export const QUESTION_TTL_S = 7 * 24 * 3600;
/** Maximum time in seconds that a question stays open: 90 days. */
export const QUESTION_TTL_MAX_S = 90 * 24 * 3600;
/** Time for which a question stays stored after its end. */
export const QUESTION_KEPT_MS = 30 * DAY;
export const QUESTION_CHARS = 4_000;
export const ANSWER_CHARS = 4_000;
/** Maximum size of the form that answers a question: two texts, percent-encoded. */
export const ANSWER_FORM_BYTES = 100_000;
export const QUESTION_CHOICES = 20;
export const QUESTION_CHOICE_CHARS = 200;
/** Maximum number of open questions of one tenant. */
export const QUESTIONS_OPEN = 1_000;
/** Maximum number of stored questions of one tenant. Above it, the oldest ended questions are deleted. */
export const QUESTIONS_KEPT = 2_000;
/** Maximum number of questions in one answer. */
export const QUESTIONS_LISTED = 200;
/** Interval at which a client polls for the answer to a question. */
export const QUESTION_POLL_MS = SECOND;

/**
 * Time for which usage figures are stored: 400 days, so that a month can be compared with that month of the previous
 * year.
 */
export const USAGE_KEPT_MS = 400 * DAY;
/** Write-behind delay of usage figures. */
export const USAGE_WRITE_MS = 5 * SECOND;
/** Maximum number of usage figures that wait to be written. More figures are dropped, to limit memory. */
export const USAGE_WAITING = 10_000;
/** Write-behind delay of activity entries. Entries that arrive during the delay are written together. */
export const ACTIVITY_WRITE_MS = 250;
/** Maximum number of activity entries that one write stores. Further entries are counted but not stored. */
export const ACTIVITY_BATCH = 64;
/**
 * Maximum number of tenants whose activity waits to be written. The activity of more tenants is dropped, to limit
 * memory.
 */
export const ACTIVITY_WAITING = 10_000;
/** Number of activity writes that are stored: several days of normal work, about 30 MB at most. */
export const ACTIVITY_WRITES_KEPT = 5_000;
/** Time for which hourly figures are stored. */
export const FIGURES_KEPT_MS = 32 * DAY;
/** Maximum length of the summary of a task, in a list and in the message about its end. */
export const TASK_SUMMARY_CHARS = 280;
/** Maximum length of the stored summary of a result. */
export const RESULT_SUMMARY_CHARS = 1_000;
/** Maximum number of tasks in one list. Other tasks are found by their id. */
export const TASKS_LISTED = 500;
/** Interval at which a bridge sends heartbeats. */
export const AGENT_BEAT_MS = 10 * SECOND;
/** Time after which a bridge without heartbeats counts as gone. */
export const AGENT_ALIVE_MS = 35 * SECOND;
/** Time for which a bridge is still listed, and its channels are remembered, after it is gone. */
export const AGENT_KEPT_MS = DAY;
export const AGENT_INSTANCE_CHARS = 64;
/**
 * Time without a hook call after which a session counts as ended. It is long, because people leave sessions open
 * overnight.
 */
export const SESSION_ALIVE_MS = 12 * HOUR;
/** Time for which messages, conversations and the names of ended sessions are stored. */
export const AGENT_MESSAGES_KEPT_MS = 30 * DAY;
/** Maximum size of the text of a message. For a larger text, push it and send its pointer. */
export const AGENT_MESSAGE_BYTES = MiB;
/**
 * Maximum size of a text that is stored in its message. A longer text is stored as a payload, and the message
 * contains an excerpt.
 */
export const AGENT_MESSAGE_INLINE_BYTES = 4 * KiB;
/** Maximum size of the excerpt of a long message, in tokens. */
export const AGENT_EXCERPT_TOKENS = 400;
/** Maximum number of messages in one list, and of messages that wait for one agent. */
export const AGENT_MESSAGES_LISTED = 1_000;
/** Default maximum number of messages that are shown to a session in one turn. The others follow in its next turn. */
export const AGENT_MESSAGES_SHOWN = 10;
/** Maximum number of recipients of one message. */
export const AGENT_RECIPIENTS = 100;
/** Duration of the lease of a process that is showing messages to a session. */
export const AGENT_TAKEN_MS = 30 * SECOND;
/**
 * Number of messages of a conversation after which a person must allow more. Otherwise two agents could talk forever.
 */
export const CONVERSATION_MESSAGES = 20;
export const CONVERSATIONS_LISTED = 200;
/** Maximum length of the text that says what a session works on or waits for. */
export const AGENT_TEXT_CHARS = 300;
/** Maximum length of the path of a folder. */
export const FOLDER_CHARS = 4_096;
/** Default duration of a claim. The hooks of its owner renew it. */
export const CLAIM_MS = 15 * MINUTE;
/** Maximum duration of a claim, in seconds. */
export const CLAIM_MAX_S = 24 * 3_600;
/** Maximum number of claims of a project. */
export const CLAIMS_MAX = 2_000;
export const CLAIM_CHARS = 512;
/**
 * Maximum number of asterisks in a claim. It is small, because each claim is compared with all other claims of its
 * project.
 */
export const CLAIM_WILDCARDS = 8;
/** Maximum number of tasks that one bridge runs concurrently. */
export const BRIDGE_TASKS = 100;
/**
 * Default timeout of a task, for the agent and for a sender that waits for the result. Existing clients rely on this
 * value.
 */
export const TASK_TIMEOUT_MS = 600 * SECOND;
/** Maximum length of the text that says why a task is stuck, including the question of the agent. */
export const TASK_STUCK_CHARS = 600;
/** Maximum size of a task that is typed into a terminal. For a larger task, one line with its pointer is typed. */
export const TASK_INLINE_BYTES = 2 * KiB;
/** Maximum number of bytes of an agent's output that are stored: its end, because that contains the outcome. */
export const TASK_OUTPUT_BYTES = 8 * MiB;

// Project files, briefs and hooks.

/** Maximum size of a brief, in tokens. Agents read the brief at the start of every session. */
export const BRIEF_TOKENS = 1_000;
/** Maximum length of a line in a brief. Longer lines are cut. The project file contains the full line. */
export const BRIEF_LINE_CHARS = 240;
/** Age after which a todo is due for review. */
export const REVIEW_AGE_MS = DAY;
/** Maximum size of a project file. Larger files are not read. */
export const PROJECT_FILE_BYTES = 4 * MiB;
/** Maximum size of a build file, such as package.json, that a brief reads. Larger files are skipped. */
export const BUILD_FILE_BYTES = 256 * KiB;
/**
 * Maximum size of an untracked file from which a hand-off shows the first lines. A hand-off only names larger files.
 */
export const PREVIEW_FILE_BYTES = 16 * KiB;
/** Maximum length of a text that a tool writes into a project file. */
export const PROJECT_TEXT_CHARS = 10_000;
/** Number of finished hand-offs that state.json keeps. */
export const HANDOFFS_KEPT = 20;
/** Maximum time until the deadline of a hand-off. */
export const HANDOFF_DEADLINE_MS = 30 * DAY;
/** Interval at which a waiting parent agent polls state.json. */
export const HANDOFF_POLL_MS = 500;
/** Maximum time for which a command waits for the lock of the project files. */
export const PROJECT_LOCK_WAIT_MS = 30 * SECOND;
/**
 * Age after which another process may take over a lock of the project files. Writes take only milliseconds. A process
 * that was suspended checks that it still has the lock before it writes.
 */
export const PROJECT_LOCK_STALE_MS = 60 * SECOND;
/**
 * Timeout for requests of a hook to a remote relay. The agent waits for the hook, so after the timeout the hook
 * continues without the relay.
 */
export const HOOK_REMOTE_MS = 300;
/**
 * Maximum time that a hook works on the local store. Clients wait 10 s for a hook; the remaining 3 s are a reserve for
 * slow machines.
 */
export const HOOK_LOCAL_MS = 7 * SECOND;
/** Maximum time for which a hook delays an edit to look for claims in a local relay. */
export const HOOK_EDIT_MS = SECOND;
/** Minimum time between two reminders in a session. */
export const REMINDER_GAP_MS = 30 * 60 * SECOND;

// Sessions of coding agents.

/** Maximum size of a line in a transcript. Longer lines are skipped, so that reading needs little memory. */
export const SESSION_LINE_BYTES = 4 * MiB;
/** Number of bytes at the start of a transcript that are searched for the folder and the first prompt. */
export const SESSION_HEAD_BYTES = 256 * KiB;
/**
 * Maximum length of the text of a turn, and of the input and output of a tool. The middle of a longer text is left
 * out.
 */
export const SESSION_TURN_CHARS = 32_000;
/** Maximum size of a hand-off that quotes a session, in tokens. */
export const SESSION_HANDOFF_TOKENS = 1_500;
/** Maximum size, in tokens, of the text that says what a compaction removed from a session. */
export const SESSION_LOSS_TOKENS = 600;
/** Maximum time for which a search of sessions updates its index. The next search indexes the rest. */
export const SESSION_INDEX_MS = 20 * SECOND;
/** Maximum number of sessions that a search or a list reads, newest first. */
export const SESSIONS_MAX = 1_000;

// Prompts and pipelines.

/** Maximum number of artifacts that a prompt shows as previews. */
export const PROMPT_PREVIEWS = 10;
/** Maximum number of artifacts that a prompt lists by name only. */
export const PROMPT_NAMES = 10;
/**
 * Maximum total size of the previews of pinned artifacts in a prompt, about 1,500 tokens. All other previews together
 * have the same limit.
 */
export const PROMPT_PREVIEW_BYTES = 6 * KiB;
/** Maximum number of passages that match the question in a prompt. One passage has about 120 tokens. */
export const PROMPT_PASSAGES = 4;
/**
 * Maximum size of one earlier answer in a prompt. Earlier answers are shown because the question may refer to them.
 */
export const PROMPT_ANSWER_BYTES = 600;
/** Maximum total size of earlier questions and answers in a prompt, about 500 tokens. The newest ones are shown. */
export const PROMPT_CONVERSATION_BYTES = 2 * KiB;
/** Number of passages or artifacts from which a prompt chooses what to show. Source artifacts come first. */
export const PROMPT_SCANNED = 100;
/** Maximum number of rounds of tool calls before a model must answer. */
export const PULL_ROUNDS = 6;
/** Maximum number of tool calls in one round. */
export const PULL_CALLS = 8;
/** Maximum number of tokens that one tool call returns. */
export const PULL_CALL_TOKENS = 2_000;
/** Maximum number of tokens that all tool calls for one answer return together. */
export const PULL_TOKENS = 8_000;
/** Highest limit of rounds of tool calls that a pipeline step may set. */
export const STEP_PULL_ROUNDS = 50;
/** Highest limit of the tokens of tool calls that a pipeline step may set. */
export const STEP_PULL_TOKENS = 200_000;
/** Maximum number of passages that a search returns to a model. */
export const PULL_PASSAGES = 6;
/**
 * Maximum size of the question of a prompt. A longer text is stored as an artifact, and the prompt shows its preview.
 */
export const PROMPT_WORDS_BYTES = 64 * KiB;
/** Maximum number of operations in a patch that a model proposes in its answer. */
export const ANSWER_PATCH_OPS = 50;
/** Number of characters at the end of an answer that are searched for a patch. */
export const ANSWER_TAIL_CHARS = 64 * KiB;
/** Time for which the answer to an identical prompt is reused. */
export const ANSWER_CACHE_MS = DAY;
/** Default maximum of the output tokens of a model. */
export const ANSWER_TOKENS = 8_192;
/** Maximum number of retries of a request to a model provider that is busy. */
export const PROVIDER_RETRIES = 2;
/** Maximum size of an event in the stream of a model provider. */
export const PROVIDER_EVENT_CHARS = 4 * MiB;

/** Maximum size of a pipeline file. */
export const PIPELINE_FILE_BYTES = MiB;
/**
 * Maximum size of a pipeline file that is stored in the first event of a run. A larger file is stored as an artifact,
 * which takes longer.
 */
export const PIPELINE_EVENT_BYTES = 32 * KiB;
/** Maximum number of step instances in one run. Each instance is a process or a model call with its own events. */
export const PIPELINE_STEPS = 1_000;
/**
 * Duration of the lease of a run, in seconds. The process that runs it renews the lease three times within this time.
 */
export const PIPELINE_HOLD_S = 15;
/** Maximum duration of the lease of a thread, in seconds. */
export const THREAD_HOLD_S = 3_600;
export const PIPELINE_PARALLEL = 4;
export const PIPELINE_PARALLEL_MAX = 256;
/** Maximum size of the output of one step. It is limited because every running step keeps its output in memory. */
export const STEP_OUTPUT_BYTES = 16 * MiB;
/** Maximum length of the prompt of a step that a run records. Only the beginning of a longer prompt is recorded. */
export const STEP_PROMPT_CHARS = 8 * KiB;
/** Number of characters at the end of stderr that are recorded as the reason of a failure. */
export const STEP_COMPLAINT_CHARS = 4 * KiB;
/** Maximum size of a value that a template puts into an environment variable. Linux allows 128 KiB. */
export const STEP_VALUE_BYTES = 100 * KiB;
export const STEP_TIMEOUT_MS = HOUR;
/** Timeout of a command or webhook that notifies people, and of a command that prints a secret. */
export const NOTIFY_MS = 30 * SECOND;
/** Maximum size of a secret. */
export const SECRET_BYTES = 64 * KiB;
/** Maximum number of missed runs of a schedule that are handled in one round. */
export const PIPELINE_MISSED_RUNS = 1_000;
/** Maximum size of the webhook request that starts a run. It is stored in an event. */
export const WEBHOOK_BYTES = 64 * KiB;
/** Maximum age of the signature of a webhook. */
export const WEBHOOK_AGE_MS = 5 * MINUTE;
/** Default number of rounds of a step with `until`. */
export const STEP_ROUNDS = 5;
/** Maximum number of rounds of a step with `until`. */
export const STEP_ROUNDS_MAX = 100;
export const STEP_RETRIES_MAX = 20;
export const STEP_BACKOFF_MS = SECOND;
export const STEP_BACKOFF_MAX_MS = 60 * SECOND;
/** Default time for which the result of a step is reused if the step has not changed. */
export const STEP_CACHE_MS = 7 * DAY;

// Files and spaces. A file may be as large as a payload (`PAYLOAD_BYTES`, or the limit of the plan).

/**
 * Maximum length of the name of a space. The name is part of every record key of the space and of addresses such as
 * `relay://notes/a.md`.
 */
export const SPACE_NAME_CHARS = 128;
/**
 * Maximum size of the path of a file. Object stores have this limit too. Together with the space and the tenant, the
 * path fits into a store key.
 */
export const FILE_PATH_BYTES = 1024;
/** Maximum size of one name within a path. File systems have this limit too, so every file can be saved to a disk. */
export const FILE_NAME_BYTES = 255;

/** Maximum size of the metadata of a file, which is sent as an HTTP header and is part of every listing. */
export const FILE_METADATA_BYTES = 4 * 1024;

/** Default number of earlier versions that a file keeps. */
export const FILE_VERSIONS = 20;
/**
 * Maximum number of earlier versions that a file keeps. It is limited because one request reads the records of all
 * versions.
 */
export const FILE_VERSIONS_MAX = 100;
/** Maximum lifetime of a file: ten years. A file without a ttl does not expire. */
export const FILE_TTL_MAX_S = 3650 * 24 * 3600;

/** Maximum number of files that one request reads, writes or deletes. */
export const FILES_AT_ONCE = 1_000;
/** Maximum total size of the files that one request reads. A file above this size needs a request of its own. */
export const FILES_READ_BYTES = 2 * 1024 * 1024;
/** Maximum size of a page of a file listing, as JSON. A page with much metadata has fewer files. */
export const FILE_PAGE_BYTES = 4 * 1024 * 1024;

// The search index over artifacts.

/**
 * Maximum length of one document in the search index of a NATS cluster. An artifact is indexed in shorter sections
 * (`INDEX_SECTION_BYTES`). Earlier versions indexed it as one document, cut at this length.
 */
export const INDEX_TEXT_CHARS = 1024 * KiB;
/**
 * Size of a section in the search index. A longer text is indexed in sections, so that a search reads only the
 * sections that match best.
 */
export const INDEX_SECTION_BYTES = 32 * KiB;
/**
 * Maximum size of a text that is indexed before the answer, which takes about 2 ms. Worker threads index longer texts
 * later.
 */
export const INDEX_AT_ONCE_BYTES = 16 * KiB;
/**
 * Maximum time for which an answer waits until a longer text is indexed. After this time, searches report which texts
 * are not indexed yet.
 */
export const INDEX_WAIT_MS = 2_000;
/** Maximum number of artifacts that a search lists because it could not search all of their text. */
export const UNSEARCHED_NAMED = 20;

// The relay as an A2A agent.

/** Time for which an A2A task is kept after its last change. */
export const A2A_TASK_TTL_MS = 7 * DAY;
/**
 * Maximum time for which an A2A call waits for a task. Then it returns the task in its current state, before a proxy
 * or client closes the connection.
 */
export const A2A_WAIT_MS = 10 * 60 * SECOND;
/**
 * Interval at which a followed task is polled. Polling is needed because leases and cancellations send no message.
 */
export const A2A_POLL_MS = SECOND;
/**
 * Maximum size of a message that is stored in the record of its task. Parts above 16 KB are stored
 * separately.
 */
export const A2A_MESSAGE_BYTES = 32 * KiB;
export const A2A_PARTS = 100;
/** Maximum size of a message as JSON, with all its fields. It must fit into an environment variable. */
export const A2A_MESSAGE_JSON_BYTES = 64 * KiB;
/**
 * Maximum size of a message that is sent in the metadata of its task. A larger message is sent as a pointer.
 */
export const A2A_MESSAGE_RIDES_BYTES = 4 * KiB;
/** Maximum length of the messageId and the contextId that a client sends. */
export const A2A_ID_CHARS = 256;
/** Number of newest messages of a task that are stored as its history. */
export const A2A_HISTORY = 100;
export const A2A_HISTORY_BYTES = 256 * KiB;
/** Number of newest states of a task that are stored. */
export const A2A_STEPS = 50;
/** Maximum number of artifacts in one answer of an agent. */
export const A2A_ARTIFACTS = 50;
/**
 * Maximum size of an A2A request. It is large, because clients that do not know our extension put whole files into a
 * message.
 */
export const A2A_REQUEST_BYTES = STORED_BYTES + MiB;
/** Maximum number of webhooks of one task. */
export const A2A_WEBHOOKS = 10;
/** Maximum number of tasks that one list request scans, newest first. */
export const A2A_TASKS_LISTED = 1_000;
export const WEBHOOK_TIME_MS = 10 * SECOND;

// The relay as a Cloudflare Worker. All requests of an isolate share 128 MB of memory, and each has 30 s of CPU time
// by default. The memory figures below were measured in a local process with a simulated R2.

/**
 * Default maximum size of a text that is searched: the largest payload. Searching it takes about one second and
 * little memory.
 */
export const WORKER_TEXT_BYTES = PAYLOAD_BYTES;
/**
 * Maximum size of a text that is kept in memory to count its tokens or to parse JSON. It needs up to 30 MB, so
 * several requests fit into the memory.
 */
export const WORKER_HELD_TEXT_BYTES = 4 * MiB;
/**
 * Maximum number of work steps (see WorkMeter) of one fold of a thread's log: one to two seconds. It is lower than on
 * a server, because a Worker has no other thread for the fold.
 */
export const WORKER_FOLD_WORK = 200_000_000;
/**
 * Maximum size of an MCP or A2A message. A message needs up to 10 bytes of memory per byte, because it is in memory
 * as text, parsed and encoded.
 */
export const WORKER_MESSAGE_BYTES = 8 * MiB;
/** Maximum size of an artifact inside JSON. If its name comes after its content, the content is stored twice. */
export const WORKER_JSON_ARTIFACT_BYTES = 8 * MiB;
