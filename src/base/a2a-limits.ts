/** The limits of what the relay takes, keeps and gives as an A2A agent. */

import { STORED_BYTES } from './limits.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND = 1000;
const DAY = 24 * 60 * 60 * SECOND;

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
