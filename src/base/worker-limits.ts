/**
 * The limits of the relay as a Worker, which has 128 MB of memory for all requests of an isolate, and for each of them 30 s of processor
 * time by default. The memory that is named here is the growth of a whole process on one machine, with what stands in for R2.
 */

import { PAYLOAD_BYTES } from './limits.ts';

const MiB = 1024 * 1024;

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
