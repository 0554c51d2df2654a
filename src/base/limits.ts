/** Every limit has a name, lives here, and says why it is what it is. */

const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND = 1000;
const HOUR = 60 * 60 * SECOND;
const DAY = 24 * HOUR;

/** A payload, decoded and before encryption: what existing clients are promised. */
export const PAYLOAD_BYTES = 25 * MiB;

/** What may be stored for one payload: Fernet's base64 makes 4 bytes of 3, and adds a short header. */
export const STORED_BYTES = Math.ceil((PAYLOAD_BYTES * 4) / 3) + KiB;

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

export const CHANNEL_NAME_CHARS = 256;

/** Long enough for any UUID or hash a client makes up, short enough to keep. */
export const IDEMPOTENCY_KEY_CHARS = 256;

/** A retry of a pull with the same key within this time does not count again. */
export const PULL_RETRY_WINDOW_MS = 5 * 60 * SECOND;

export const DEFAULT_TTL_MS = DAY;
export const MIN_TTL_MS = SECOND;
/** In open mode; a plan may allow less. */
export const MAX_TTL_MS = 30 * DAY;

export const MAX_PULLS = 1_000_000;

/** One answer to a grep: more than this is a pull, not a look. */
export const GREP_MATCHES = 1_000;
export const GREP_CONTEXT_LINES = 50;
export const GREP_PATTERN_CHARS = 1_000;
/** A line longer than this is cut in a part (and marked), so that one minified line is not a flood. */
export const PART_LINE_CHARS = 16 * KiB;
export const OUTLINE_ENTRIES = 500;

/** Text counted for tokens in one go; beyond it the figure is an estimate and says so. */
export const TOKEN_COUNT_CHARS = 4 * MiB;
/** A run without a break longer than this makes the tokenizer quadratic: it is cut, and the figure is an estimate. */
export const TOKEN_RUN_CHARS = 1_000;

/** Bodies up to this live inside the database: one write less, and 0.15 ms of a blocked loop at most. */
export const INLINE_BLOB_BYTES = 128 * KiB;

/** A half-uploaded or orphaned body is given this long before a sweep takes it. */
export const ORPHAN_AGE_MS = HOUR;

/** Names inside a store: key, stream, idempotent entry id. */
export const STORE_KEY_BYTES = 2 * KiB;

/** What one page of a listing holds unless told otherwise, and at most. */
export const PAGE_ITEMS = 100;
export const PAGE_ITEMS_MAX = 1_000;
