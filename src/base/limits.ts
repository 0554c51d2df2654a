/**
 * The limits of what the relay takes, keeps and gives, with the reason where it is not plain. A limit that concerns one file
 * alone is in that file.
 */

const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND = 1000;
const HOUR = 60 * 60 * SECOND;
const DAY = 24 * HOUR;

/** A payload, decoded and before encryption: what existing clients are promised. */
export const PAYLOAD_BYTES = 25 * MiB;

/** What may be stored for one payload: Fernet's base64 makes 4 bytes of 3, and adds a short header. */
export const storedBytes = (payloadBytes: number) => Math.ceil((payloadBytes * 4) / 3) + KiB;
export const STORED_BYTES = storedBytes(PAYLOAD_BYTES);

/** A JSON push may escape every byte as `\u00XX`: six on the wire for one stored; the rest is for the other fields. */
export const PUSH_WIRE_BYTES = STORED_BYTES * 6 + 256 * KiB;

/** Metadata is read on every peek and travels with every channel message, so it stays small. */
export const METADATA_BYTES = 16 * KiB;

/** All fields of a JSON push but `data`; metadata is the largest of them and may arrive escaped. */
export const PUSH_FIELDS_BYTES = 128 * KiB;

/** Any other JSON body: deep enough for every operation, too small to be a weapon. */
export const JSON_BODY_BYTES = 2 * MiB;

/** Nesting beyond this is nobody's data and somebody's stack overflow. */
export const JSON_DEPTH = 64;
/** Values in one JSON body: parsing makes far more of them than of text, in memory and in time, and does it in one go. */
export const JSON_VALUES = 200_000;

export const CHANNEL_NAME_CHARS = 256;

/** Long enough for any UUID or hash a client makes up, short enough to keep. */
export const IDEMPOTENCY_KEY_CHARS = 256;

/** A retry of a pull with the same key within this time does not count again. */
export const PULL_RETRY_WINDOW_MS = 5 * 60 * SECOND;
/** So many retries of one pull are free: enough for a poor line, too few to share a pointer for one reader. */
export const PULL_RETRIES = 2;

export const DEFAULT_TTL_MS = DAY;
export const MIN_TTL_MS = SECOND;
/** Of a pointer, in open mode; a plan may allow less. As long as that of a file or a thread, so that a pointer can live as long as a text that names it. */
export const MAX_TTL_MS = 3650 * DAY;
/** Pointers that one request renews. Each may be stored anew. */
export const RENEWED_POINTERS = 100;

export const MAX_PULLS = 1_000_000;

/** One answer to a grep: more than this is a pull, not a look. */
export const GREP_MATCHES = 1_000;
export const GREP_CONTEXT_LINES = 50;
export const GREP_PATTERN_CHARS = 1_000;
/** Linear time has a constant too: each step of a compiled pattern may be taken at every character. */
export const GREP_PATTERN_STEPS = 1_000;
/** A search that takes longer is a mistake or a weapon; every honest one is done in a fraction of it. */
export const GREP_TIME_MS = 5 * SECOND;
/** A line longer than this is cut in a part (and marked), so that one minified line is not a flood. */
export const PART_LINE_CHARS = 16 * KiB;
/** A part is held whole and meant for a prompt; what is larger is pulled, or asked for in several parts. */
export const PART_CHARS = MiB;
export const OUTLINE_ENTRIES = 500;
/** Enough of a line to know it again. */
export const OUTLINE_LINE_CHARS = 120;
/** Deeper levels of a JSON payload are asked for by pointer. */
export const OUTLINE_DEPTH = 4;

/** Text counted for tokens in one go; beyond it the figure is an estimate and says so. */
export const TOKEN_COUNT_CHARS = 4 * MiB;
/**
 * A piece without a break that is longer is cut for counting, and makes the figure an estimate. Of a text that is too long for one go,
 * slices of about this length are counted.
 */
export const TOKEN_SLICE_CHARS = 8 * KiB;

/** Threads of a server for work that grows with a text. Long texts leave one of them to short ones. */
export const TEXT_THREADS = 2;
/** Jobs of one tenant that may wait for such a thread; beyond it the client is told to come back. */
export const TEXT_JOBS_WAITING = 64;
/** Work on one text: the largest payload takes a second or two, whatever is in it. */
export const TEXT_JOB_TIME_MS = 10 * SECOND;
/** The heap of such a thread: several times the largest payload as text. */
export const TEXT_JOB_MEMORY_MB = 192;

/** Looked at for credentials before a push: a warning is worth some milliseconds, not more. */
export const SECRET_SCAN_CHARS = MiB;
/** Enough to see that a push is full of them. */
export const SECRET_FINDINGS = 100;

/** Bodies up to this live inside the database: one write less, and 0.15 ms of a blocked loop at most. */
export const INLINE_BLOB_BYTES = 128 * KiB;

/**
 * Bodies of these sizes a server appends to segments, unless one comes alone and may be inline. A smaller one is written faster with its row, in a page or two of
 * the database; a larger one would be held in memory whole while it is read.
 */
export const SEGMENT_BLOB_BYTES = { min: 4 * KiB, max: MiB };

/**
 * A body up to this that is to be a file with a name of its own, a server stores with its row, and makes the file behind it. A
 * larger one would be written three times for that.
 */
export const LATE_FILE_BYTES = 64 * KiB;

/** A half-uploaded or orphaned body is given this long before a sweep takes it. */
export const ORPHAN_AGE_MS = HOUR;

/** A larger difference to the clock of the cluster is a warning: leases and expiry then differ from relay to relay. */
export const CLUSTER_CLOCK_TOLERANCE_MS = 5 * SECOND;

/** Names inside a store: key, stream, idempotent entry id. */
export const STORE_KEY_BYTES = 2 * KiB;

/** What one page of a listing holds by default, and at most. */
export const PAGE_ITEMS = 100;
export const PAGE_ITEMS_MAX = 1_000;

/** The whole memory of a thread. Beyond it nobody reads it, and every copy of it costs. */
export const STATE_BYTES = MiB;
/** A patch with more operations is a rewrite; several patches do it in steps that can be compared. */
export const PATCH_OPS = 5_000;
/** Steps (see WorkMeter) that one patch may take: some 30 ms. 2 000 moves in a list of 5 000 items take a fifth of it. */
export const PATCH_WORK = 6_000_000;
/** Steps of one fold of a thread's log: blame, diff, replay, a state of old, the check of a bundle. It ends after TEXT_JOB_TIME_MS in any case. */
export const FOLD_WORK = 2_000_000_000;
/** A header rides in every prompt, so it is bounded twice: on the wire and as a model counts it. */
export const HEADER_BYTES = 2 * KiB;
export const HEADER_TOKENS = 500;
/** The same as text for a model: so many tokens have fewer bytes, and what has more need not be counted. */
export const HEADER_TEXT_BYTES = 4 * KiB;
/**
 * A snapshot of the state is taken after so much log, or as much as the snapshot takes where that is more. A command folds what has come
 * since the last: some forty events on average.
 */
export const SNAPSHOT_LOG_BYTES = 32 * KiB;
/** The record that names the snapshots stays small: beyond this every second one goes. */
export const SNAPSHOTS = 256;
/** States kept folded in memory, all in all. */
export const STATE_CACHE_BYTES = 64 * MiB;
/** Idempotency keys a thread remembers; a retry comes within minutes, not a thousand changes later. */
export const THREAD_KEYS = 1_000;
/** Prompts of a thread that its figures tell one by one; the others are in the log of events. */
export const RECENT_PROMPTS = 20;
/** What a client may say at once that it has shown to a model: more than the context of any. */
export const SHOWN_TOKENS = 100_000_000;
export const THREAD_NAME_CHARS = 200;
/** Beyond ten years a thread is one without an end. */
export const THREAD_TTL_MAX_S = 3650 * 24 * 3600;

/** Compaction keeps the newest of these, and whatever is still referred to. */
export const COMPACT_ACTIONS = 50;
export const COMPACT_REFS = 200;
/** A state is compacted by itself once it holds so many, so that a long session stays bounded. */
export const AUTO_COMPACT_ACTIONS = 500;
export const AUTO_COMPACT_REFS = 1_000;

export const ARTIFACT_BYTES = 50 * MiB;
export const ARTIFACT_NAME_CHARS = 256;
export const ARTIFACT_SOURCES = 100;
/** What travels to a model in place of the content. */
export const PREVIEW_BYTES = 2 * KiB;
/** A preview by shape or by its text looks at this much of the content, never at all 50 MiB. */
export const PREVIEW_LOOK_BYTES = MiB;
/** How many damaged contents an export or an import names; the manifest of the bundle names all. */
export const DAMAGED_NAMED = 100;
/** A model that sends nothing for so long is given up by default. Some think for minutes before they speak. */
export const MODEL_SILENCE_MS = 300_000;

/** An envelope is a message, not a parcel: larger parts travel as pointers. */
export const ENVELOPE_PAYLOAD_BYTES = 16 * KiB;
export const ENVELOPE_NOTE_CHARS = 280;
/** Two agents that only talk to each other are stopped here. */
export const THREAD_HOPS = 50;
export const ENVELOPE_TTL_MAX_S = 7 * 24 * 3600;

/** Arguments travel in the event log and are the cache's key. */
export const CAPABILITY_ARGS_BYTES = 16 * KiB;
export const CAPABILITY_TIME_MS = 60 * SECOND;
export const CAPABILITY_TTL_MAX_S = 7 * 24 * 3600;
/** What `http.fetch` takes from one page, and how long it waits for it. */
export const FETCH_BYTES = 5 * MiB;
export const FETCH_TIME_MS = 20 * SECOND;
export const FETCH_REDIRECTS = 5;

/** A bundle of a thread: no ZIP64, and nothing that unpacks to more than it could have been packed from. */
export const BUNDLE_BYTES = 2 * 1024 * MiB;
export const BUNDLE_ENTRIES = 100_000;
/** Deflate's own ceiling is 1032:1; honest text stays far below this. */
export const BUNDLE_RATIO = 200;

/** How long and how many messages a channel keeps by default: a day of agents' traffic. */
export const CHANNEL_RETENTION_MS = DAY;
export const CHANNEL_MESSAGES = 10_000;
/** A signal is a nudge; what is larger is a push. */
export const SIGNAL_BYTES = 16 * KiB;
export const GROUP_NAME_CHARS = 64;
/** Names of agents: the owner of an inbox, the member of a group. */
export const AGENT_NAME_CHARS = 128;

/** Work that nobody acknowledged goes to another member after this long; a member at work extends it. */
export const LEASE_MS = 30 * SECOND;
/** So often work is handed out before it goes among the dead letters. */
export const GROUP_ATTEMPTS = 5;
/** How long failed work waits before it is handed out again, time after time, and how long a group may have it wait. */
export const GROUP_RETRY_MS: readonly number[] = [SECOND, 5 * SECOND, 30 * SECOND, 120 * SECOND];
export const GROUP_RETRY_MAX_MS = HOUR;
/** What a group has handed out or was handed back: its state is one small record. */
export const GROUP_IN_FLIGHT = 500;
/** Messages one member may hold at once, where it asks for more than one. */
export const PREFETCH_MAX = 100;
/** Acknowledgements a group remembers, so that a repeated one is told "yes" again. */
export const GROUP_ACKS_KEPT = 256;
/** A group that nobody has worked in for this long is forgotten. */
export const GROUP_IDLE_MS = 7 * DAY;
/** A member is counted as there for so long after its process was last heard of, which it is three times as often. */
export const MEMBER_TTL_MS = 9 * SECOND;

/** One answer of an inbox; the rest comes with the next. */
export const INBOX_MESSAGES = 100;
/** Channels that one agent follows, and follows of all agents of a tenant. */
export const INBOX_CHANNELS = 1_000;
export const INBOX_FOLLOWS = 10_000;

/** Sockets are pinged this often; one that has not answered by the next time is gone. */
export const PING_EVERY_MS = 30 * SECOND;
/** What may wait for a reader that does not keep up. Beyond it the reader is cut off and resumes. */
export const SLOW_READER_BYTES = MiB;
/** Acknowledgements are short, and nothing else is sent to a channel's socket. */
export const INBOUND_FRAME_BYTES = 4 * KiB;
/** Frames of one socket that may be unanswered at once, answers that the client has not read included. */
export const INBOUND_FRAMES_OPEN = 256;
/** A browser connects at once after it asked. */
export const TICKET_TTL_MS = 30 * SECOND;
/** Proxies close a silent connection after a minute or so. */
export const SSE_HEARTBEAT_MS = 15 * SECOND;

/** Receipts are written behind, together: this long after the first pull. */
export const RECEIPT_DELAY_MS = SECOND;
/** Pointers whose receipts wait to be written; beyond it, receipts are left out rather than memory used up. */
export const RECEIPTS_WAITING = 10_000;
/** Different readers of a pointer that its receipts tell apart. */
export const RECEIPT_READERS = 500;

/** One MCP message: the largest payload as a JSON string with ordinary escapes, and what is around it. */
export const MCP_MESSAGE_BYTES = STORED_BYTES + MiB;
/** What a tool may answer with: below the 25 000 at which a common client cuts answers off without asking. */
export const MCP_BUDGET_TOKENS = 20_000;
/** One MCP answer over HTTP: it is written out in one go, and no model reads more. */
export const MCP_ANSWER_BYTES = 4 * MiB;
/** Resources that one MCP subscription may be told of. */
export const MCP_WATCHED = 100;
/** MCP streams of changes that one server holds open. */
export const MCP_STREAMS = 1_000;

/** A revoked key stays on the list this long, for whoever looks into what happened. */
export const KEY_REMEMBERED_MS = 30 * DAY;
/** Beyond ten years a key is one without an end. */
export const KEY_TTL_MAX_MS = 3650 * DAY;
/** After a rotation, programs get at most so long to take up the new key. */
export const KEY_GRACE_MAX_MS = 30 * DAY;
/** How often the keys of open sockets and streams are looked up again. */
export const KEY_CHECK_MS = 2 * SECOND;
/** Keys whose last use waits to be written; beyond it, it is left out rather than memory used up. */
export const KEY_USE_WAITING = 10_000;
/** The last use of a key is written behind: this long after it. */
export const KEY_USE_WRITE_MS = 2 * SECOND;
/** For the plan of whoever runs the relay; a list of more is no longer looked through. */
export const KEYS_MAX = 1_000;

/** A share link is for showing something to somebody, not for good: a week by default, and a season at most. */
export const SHARE_TTL_S = 7 * 24 * 3600;
export const SHARE_TTL_MAX_S = 90 * 24 * 3600;
export const SHARE_NAME_CHARS = 100;
/** Links of one tenant that work at the same time; a list of more is no longer looked through. */
export const SHARES_MAX = 500;

/** Usage is kept for a year and a month, to compare a month with the same one of last year. */
export const USAGE_KEPT_MS = 400 * DAY;
/** Statistics are written behind: this long after the first thing worth counting. */
export const USAGE_WRITE_MS = 5 * SECOND;
/** Figures that wait to be written; beyond it, they are left out rather than memory used up. */
export const USAGE_WAITING = 10_000;
/** Activity is written behind, together: this long after the first of it. Whoever watches sees it without a delay to speak of. */
export const ACTIVITY_WRITE_MS = 250;
/** What one such write tells one by one; what happened beyond it is counted. More in a quarter of a second nobody reads. */
export const ACTIVITY_BATCH = 64;
/** Tenants whose activity waits to be written; beyond it, activity is left out rather than memory used up. */
export const ACTIVITY_WAITING = 10_000;
/** Writes that are kept: days of ordinary work, and some 30 MB where agents are as busy as can be. */
export const ACTIVITY_WRITES_KEPT = 5_000;
/** Figures by the hour are kept for a month and a day. */
export const FIGURES_KEPT_MS = 32 * DAY;
/** What a list of tasks or a done channel shows of each. */
export const TASK_SUMMARY_CHARS = 280;
export const RESULT_SUMMARY_CHARS = 1_000;
/** One list of tasks; a channel with more is looked at by id. */
export const TASKS_LISTED = 500;
/** A bridge says that it is there this often, and is taken for gone after three times that and a little. */
export const AGENT_BEAT_MS = 10 * SECOND;
export const AGENT_ALIVE_MS = 35 * SECOND;
/** A bridge that went without a word is shown for this long, and the channels it served are remembered. */
export const AGENT_KEPT_MS = DAY;
export const AGENT_INSTANCE_CHARS = 64;
/** Tasks that one bridge runs side by side: agents are heavy. */
export const BRIDGE_TASKS = 100;
/** How long an agent gets for a task, and a sender waits for its result by default: as existing clients do. */
export const TASK_TIMEOUT_MS = 600 * SECOND;
/** Why a task does not go on: a sentence, with the question that an agent asks. */
export const TASK_STUCK_CHARS = 600;
/** A task longer than this goes into a terminal as one line with its pointer. */
export const TASK_INLINE_BYTES = 2 * KiB;
/** What is kept of an agent's output; the end counts, because the outcome is there. */
export const TASK_OUTPUT_BYTES = 8 * MiB;

// Project files, and what a session is told of them.

/** What a cold start may cost a model: one page, read at the start of every session. */
export const BRIEF_TOKENS = 1_000;
/** One line of a brief; the file it came from has the rest. */
export const BRIEF_LINE_CHARS = 240;
/** Todos that nobody looked at for a day are suspect. */
export const REVIEW_AGE_MS = DAY;
/** Project files are written by hand and read at every start; more than this is something else by the same name. */
export const PROJECT_FILE_BYTES = 4 * MiB;
/** One text that a tool writes into a project file. */
export const PROJECT_TEXT_CHARS = 10_000;
/** Finished hand-offs that stay in state.json, so that it does not grow for ever. */
export const HANDOFFS_KEPT = 20;
/** The longest deadline of a hand-off; what takes longer is no task for a sub-agent. */
export const HANDOFF_DEADLINE_MS = 30 * DAY;
/** How often a parent that waits for a result looks into state.json. */
export const HANDOFF_LOOK_MS = 500;
/** How long a command waits for another to finish writing the project files. */
export const PROJECT_LOCK_WAIT_MS = 30 * SECOND;
/** A write takes milliseconds: whoever holds the lock this long has died or sleeps, and checks again before it writes. */
export const PROJECT_LOCK_STALE_MS = 60 * SECOND;
/** An agent waits for its hook: a relay far away gets this long, and then the hook goes on without it. */
export const HOOK_REMOTE_MS = 300;
/** Once per session and this long: a reminder at every turn is noise. */
export const REMINDER_GAP_MS = 30 * 60 * SECOND;

// Prompts and pipelines.

/** What of a thread rides in a prompt: so many artifacts, each as a preview. The rest is a pull away. */
export const PROMPT_PREVIEWS = 10;
/** The beginnings of pins together, and as much for others: about 1 500 tokens, and never more than there are bytes. */
export const PROMPT_PREVIEW_BYTES = 6 * KiB;
/** Passages that a prompt shows of what has to do with its words: about 120 tokens each. A model that wants more can search. */
export const PROMPT_PASSAGES = 4;
/** Of what was answered last, to which a question may refer. */
export const PROMPT_LAST_ANSWER_BYTES = 600;
/** Passages and artifacts among which those of a prompt are chosen, sources first. */
export const PROMPT_SCANNED = 100;
/** How often a model may call for more before it has to answer, and how many calls it may make at once. */
export const PULL_ROUNDS = 6;
export const PULL_CALLS = 8;
/** What one call answers, and all calls for one answer together: about what three pages and twelve pages cost. */
export const PULL_CALL_TOKENS = 2_000;
export const PULL_TOKENS = 8_000;
/** Passages that one search for a model finds. */
export const PULL_PASSAGES = 6;
/** What a person says; anything longer is material, and goes in as an artifact of which a preview travels. */
export const PROMPT_WORDS_BYTES = 64 * KiB;
/** A model changes a state in small steps that people can follow. */
export const ANSWER_PATCH_OPS = 50;
/** Looked at for a patch at the end of an answer, however long the answer is. */
export const ANSWER_TAIL_CHARS = 64 * KiB;
/** An answer is used again for an identical bundle within a working day. */
export const ANSWER_CACHE_MS = DAY;
/** What a model may write by default. */
export const ANSWER_TOKENS = 8_192;
/** A provider that is busy is asked again so often before it is given up. */
export const PROVIDER_RETRIES = 2;
/** One event of a stream; a provider that sends more than this without a break is not one. */
export const PROVIDER_EVENT_CHARS = 4 * MiB;

/** A file that says more than this is not written by hand. */
export const PIPELINE_FILE_BYTES = MiB;
/** A file up to this size stands in the event that begins a run, so that the first step need not wait for an artifact. */
export const PIPELINE_EVENT_BYTES = 32 * KiB;
/** Instances of all steps: each is a process or a call, with events of its own. */
export const PIPELINE_STEPS = 1_000;
/** How long the lease of a run lasts. Its holder renews it every third of this. */
export const PIPELINE_HOLD_S = 15;
/** The longest lease of a thread. */
export const THREAD_HOLD_S = 3_600;
export const PIPELINE_PARALLEL = 4;
export const PIPELINE_PARALLEL_MAX = 256;
/** What one step may say; held in memory, times the steps that run at once. */
export const STEP_OUTPUT_BYTES = 16 * MiB;
/** The prompt of a step as its run keeps it, for people who look; of a longer one the beginning. */
export const STEP_PROMPT_CHARS = 8 * KiB;
/** The end of what a step said on stderr, kept for the reason of a failure. */
export const STEP_COMPLAINT_CHARS = 4 * KiB;
/** A value that a template puts into the environment of a shell: Linux takes no longer one. */
export const STEP_VALUE_BYTES = 100 * KiB;
export const STEP_TIMEOUT_MS = HOUR;
export const STEP_RETRIES_MAX = 20;
export const STEP_BACKOFF_MS = SECOND;
export const STEP_BACKOFF_MAX_MS = 60 * SECOND;
/** How long an unchanged step is answered from the cache by default. */
export const STEP_CACHE_MS = 7 * DAY;

// Files under a space. A file itself is as large as a payload may be (`PAYLOAD_BYTES`, or what the plan says).

/** Longest name of a space. The name is part of every key of the space and of addresses such as `relay://notes/a.md`. */
export const SPACE_NAME_CHARS = 128;
/** As long as object stores take it; with the space and the tenant it fits into a key of the store. */
export const FILE_PATH_BYTES = 1024;
/** What file systems take for one name, so that every file can be written out to a disk. */
export const FILE_NAME_BYTES = 255;

/** Travels as a header beside the bytes, so that a file and what is told of it come in one answer; and in every listing. */
export const FILE_METADATA_BYTES = 4 * 1024;

/** Earlier versions that a file keeps by default: enough to undo a bad afternoon, and still cheap for whoever overwrites often. */
export const FILE_VERSIONS = 20;
/** The most that a writer may ask for. The history of a file is read in one go. */
export const FILE_VERSIONS_MAX = 100;
/** Beyond ten years a file is one without an end. */
export const FILE_TTL_MAX_S = 3650 * 24 * 3600;

/** Files that are read, written or deleted by one request. */
export const FILES_AT_ONCE = 1_000;
/** Contents that one request reads together: as much as a JSON body may bring in. Larger files are read by themselves. */
export const FILES_READ_BYTES = 2 * 1024 * 1024;
/** A page of a listing ends early rather than hold more JSON than this: metadata may be long. */
export const FILE_PAGE_BYTES = 4 * 1024 * 1024;

// The search index over artifacts.

/** One document of the search index. Earlier versions put the beginning of an artifact, up to this, into one. */
export const INDEX_TEXT_CHARS = 1024 * KiB;
/**
 * A longer text is indexed in sections of about this size, so that a search reads only the sections that match best. All sections
 * of an artifact are indexed.
 */
export const INDEX_SECTION_BYTES = 32 * KiB;
/** A text up to this is indexed with the event that stores it, in 2 ms or so of the event loop; a longer one behind it, in threads. */
export const INDEX_AT_ONCE_BYTES = 16 * KiB;
/** How long an answer waits for a longer one to be indexed. Beyond it a search tells what is still missing. */
export const INDEX_WAIT_MS = 2_000;
/** Artifacts that a search names of those it did not search to their end. */
export const UNSEARCHED_NAMED = 20;

// What the relay takes, keeps and gives as an A2A agent.

/** A task that others gave us is remembered this long after its last change. */
export const A2A_TASK_TTL_MS = 7 * DAY;
/** An A2A call that waits for the result answers with the task as it is then, before proxies and clients give up. */
export const A2A_WAIT_MS = 10 * 60 * SECOND;
/** How often a task that is followed is looked at for what no message tells: that somebody took it, or cancelled it. */
export const A2A_LOOK_MS = SECOND;
/** A message, its parts above 16 KB taken out, is kept with its task, in one record. */
export const A2A_MESSAGE_BYTES = 32 * KiB;
export const A2A_PARTS = 100;
/** The same as JSON, with all that its sender put beside the parts: it also has to fit into a variable of a process. */
export const A2A_MESSAGE_JSON_BYTES = 64 * KiB;
/** Up to this size a message rides in the metadata of its task, and behind a pointer of its own above it. */
export const A2A_MESSAGE_RIDES_BYTES = 4 * KiB;
/** Of a messageId and of a contextId that the client made up. */
export const A2A_ID_CHARS = 256;
/** Messages of one task that are kept as its history, the newest ones. */
export const A2A_HISTORY = 100;
export const A2A_HISTORY_BYTES = 256 * KiB;
/** States that a task remembers to have been in, the newest ones. */
export const A2A_STEPS = 50;
/** Artifacts that one answer of an agent may have. */
export const A2A_ARTIFACTS = 50;
/** One request: a client that does not know the extension puts whole files into its message. */
export const A2A_REQUEST_BYTES = STORED_BYTES + MiB;
/** Webhooks that one task may tell. */
export const A2A_WEBHOOKS = 10;
/** What one list looks through, newest first. */
export const A2A_TASKS_LISTED = 1_000;
export const WEBHOOK_TIME_MS = 10 * SECOND;

// The relay as a Worker, which has 128 MB of memory for all requests of an isolate, and for each of them 30 s of processor time by
// default. The memory that is named here is the growth of a whole process on one machine, with what stands in for R2.

/** Looked through of one text by default: the largest payload, which takes a second or so to search and no memory to speak of. */
export const WORKER_TEXT_BYTES = PAYLOAD_BYTES;
/** Held whole of one text, to count its tokens or to read it as JSON: up to 30 MB, so several requests fit. */
export const WORKER_HELD_TEXT_BYTES = 4 * MiB;
/** Steps (see WorkMeter) of one fold of a thread's log: a second or two. There is no other thread that could do it, and no deadline. */
export const WORKER_FOLD_WORK = 200_000_000;
/** One message of MCP or A2A: read as text, parsed, and encoded again, it is in memory several times, up to 10 bytes for each of its own. */
export const WORKER_MESSAGE_BYTES = 8 * MiB;
/** One artifact in JSON: its name may stand behind its content, which is stored once more then. */
export const WORKER_JSON_ARTIFACT_BYTES = 8 * MiB;
