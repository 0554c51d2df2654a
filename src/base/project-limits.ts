/** The limits of project files, and of what a session is told of them. */

const MiB = 1024 * 1024;
const SECOND = 1000;
const DAY = 24 * 60 * 60 * SECOND;

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
