/** The limits of the search index over artifacts. */

const KiB = 1024;

/** One document of the search index. Earlier versions put the beginning of an artifact, up to this, into one. */
export const INDEX_TEXT_CHARS = 1024 * KiB;
/**
 * A longer text is indexed in sections of about this size: a search reads those that match best, and no others. Of one artifact
 * everything is indexed.
 */
export const INDEX_SECTION_BYTES = 32 * KiB;
/** A text up to this is indexed with the event that stores it, in 2 ms or so of the event loop; a longer one behind it, in threads. */
export const INDEX_AT_ONCE_BYTES = 16 * KiB;
/** How long an answer waits for a longer one to be indexed. Beyond it a search tells what is still missing. */
export const INDEX_WAIT_MS = 2_000;
/** Artifacts that a search names of those it did not search to their end. */
export const UNSEARCHED_NAMED = 20;
