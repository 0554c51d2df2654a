/** The limits of files under a space. A file itself is as large as a payload may be (`PAYLOAD_BYTES`, or what the plan says). */

/** Part of every key of the space, and of addresses such as `relay://notes/a.md`. */
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
