/** The limits of prompts and pipelines. */

const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND = 1000;
const HOUR = 60 * 60 * SECOND;
const DAY = 24 * HOUR;

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
