import { badRequest, RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  FILE_METADATA_BYTES,
  FILE_NAME_BYTES,
  FILE_PATH_BYTES,
  FILE_TTL_MAX_S,
  FILE_VERSIONS_MAX,
  SPACE_NAME_CHARS,
} from '../../base/limits.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import { reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { FileInfo, FileOptions } from '../../contract/files.ts';
import { checkMetadata, shortText } from '../bodies.ts';
import type { Deps } from '../deps.ts';
import { EndIndex } from '../end-index.ts';

/** One version of a file. Its record never changes. */
export interface FileVersion {
  readonly version: number;
  readonly blob: string;
  readonly size: number;
  readonly sha256: string;
  readonly text: boolean;
  readonly type: string | null;
  readonly metadata: JsonObject;
  /** Time of the write, in ms since the epoch. */
  readonly at: number;
  /** Id of the API key that wrote the version. */
  readonly by: string;
  /** Name of the writer. */
  readonly from: string;
  /** Digest of the idempotency key of the write. A repeated write with the same digest changes nothing. */
  readonly request: string | null;
}

/** The current state of a file. Replacing this record commits a write. */
export interface FileHead {
  /** Id of the file. A later file at the same path has another id. */
  readonly id: string;
  readonly created: number;
  /**
   * Expiry time in ms since the epoch. An expired file is invisible, and its data will be deleted. 0 means
   * that the file was deleted. Null means that the file never expires.
   */
  readonly expires: number | null;
  /** Number of earlier versions to keep. */
  readonly keep: number;
  /** Version number of the oldest stored version. */
  readonly first: number;
  /** Number of bytes of the tenant's quota that earlier versions use. */
  readonly earlierBytes: number;
  readonly current: FileVersion;
}

/** A head with the revision of its record. */
export interface StoredHead {
  readonly value: FileHead;
  readonly revision: number;
}

/** Returns how many bytes of the quota a version uses: its content and its record. */
export function versionStorageBytes(version: FileVersion): number {
  return version.size + utf8Bytes(JSON.stringify(version));
}

/** Returns how many bytes of the quota a file uses, including earlier versions. */
export function fileStorageBytes({ current, earlierBytes }: FileHead): number {
  return versionStorageBytes(current) + earlierBytes;
}

/** Returns whether a file has expired or was deleted. */
export function hasEnded({ expires }: FileHead, now: number): boolean {
  return expires !== null && expires <= now;
}

/**
 * Returns whether the caller may see the file. An API key that is bound to channels sees only files whose
 * current version it wrote.
 */
export function isVisible({ caller }: Pick<FilePlace, 'caller'>, { current }: FileHead): boolean {
  return caller === undefined || reaches(caller, { by: current.by });
}

/** Describes a version of a file for the API. */
export function toFileInfo({ space, path }: FilePlace, head: FileHead, version = head.current): FileInfo {
  return {
    space,
    path,
    version: version.version,
    etag: etagOf(version),
    size: version.size,
    sha256: version.sha256,
    text: version.text,
    content_type: version.type,
    metadata: version.metadata,
    created_at: new Date(head.created).toISOString(),
    modified_at: new Date(version.at).toISOString(),
    from: version.from,
    expires_at: head.expires === null ? null : new Date(head.expires).toISOString(),
  };
}

function etagOf({ version, sha256 }: FileVersion): string {
  return `v${version}-${sha256.slice(0, 16)}`;
}

/** Throws if the file is not as the writer expects. `head` is null if there is no file. */
export function checkConditions(
  { path }: FilePlace,
  o: Pick<FileOptions, 'if_match' | 'if_none_match'>,
  head: FileHead | null,
): void {
  const { if_match, if_none_match } = o;
  const fits =
    (if_match === undefined || (head !== null && matchesCondition(head.current, if_match))) &&
    (if_none_match === undefined || head === null);
  if (fits) return;
  const current = head ? `at ${etagOf(head.current)}` : 'not there';
  throw new RelayError('file_changed', { path, current });
}

/** Matches a condition: `3`, `v3`, an ETag with or without quotes, a list of these, or `*`. */
function matchesCondition(current: FileVersion, condition: string): boolean {
  return condition.split(',').some((one) => {
    const tag = one.trim().replace(/^"|"$/g, '');
    if (/^v?\d{1,15}$/.test(tag)) return Number(tag.replace('v', '')) === current.version;
    return tag === '*' || tag === etagOf(current);
  });
}

/** Checks the options of a write. Computes the expiry time from `now`. */
export function checkFileOptions(o: FileOptions, now: number) {
  const { ttl, keep, if_none_match } = o;
  if (ttl !== undefined && !(typeof ttl === 'number' && ttl >= 1 && ttl <= FILE_TTL_MAX_S))
    throw badRequest(
      `"ttl" must be a number of seconds from 1 to ${FILE_TTL_MAX_S}. Leave it out to keep the file.`,
    );
  if (keep !== undefined && !(Number.isInteger(keep) && keep >= 0 && keep <= FILE_VERSIONS_MAX))
    throw badRequest(`"keep" must be a whole number from 0 to ${FILE_VERSIONS_MAX}.`);
  if (if_none_match !== undefined && if_none_match !== '*')
    throw badRequest(
      'For a write, "If-None-Match" must be *, which writes only if the file does not exist yet.',
    );
  return {
    metadata: checkMetadata(o.metadata, FILE_METADATA_BYTES),
    type: shortText('content_type', o.content_type, 256),
    expires: ttl === undefined ? null : now + Math.round(ttl * 1000),
  };
}

const SPACE = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${SPACE_NAME_CHARS - 1}}$`);

/** Checks the name of a space. Throws `bad_request` if it is invalid. */
export function checkSpace(space: unknown): string {
  if (typeof space === 'string' && SPACE.test(space)) return space;
  throw badRequest(
    `The name of a space has 1 to ${SPACE_NAME_CHARS} letters, digits, dots, hyphens and underscores, such as "notes".`,
  );
}

/**
 * Checks a path and returns it unchanged, without resolving or normalising. Rejects paths that a file
 * system or URL would resolve to another place.
 */
export function checkPath(path: unknown): string {
  if (typeof path !== 'string' || path === '') throw badPath('it must not be empty');
  if (!path.isWellFormed()) throw badPath('it has an unpaired surrogate, so it is not valid Unicode');
  if (/[\u0000-\u001f\u007f\\]/.test(path)) throw badPath('it has a control character or a backslash');
  if (utf8Bytes(path) > FILE_PATH_BYTES) throw badPath(`it is longer than ${FILE_PATH_BYTES} bytes`);
  for (const name of path.split('/')) {
    if (name === '') throw badPath('it begins or ends with a slash, or has two in a row');
    if (name === '.' || name === '..') throw badPath(`it contains "${name}"`);
    if (utf8Bytes(name) > FILE_NAME_BYTES)
      throw badPath(`a name in it is longer than ${FILE_NAME_BYTES} bytes`);
  }
  return path;
}

/** Checks the beginning of a path, or a cursor of a listing. No file with this path needs to exist. */
export function checkPrefix(name: string, prefix: string | undefined): string {
  if (prefix === undefined) return '';
  if (prefix.isWellFormed() && !prefix.includes('\0') && utf8Bytes(prefix) <= FILE_PATH_BYTES) return prefix;
  throw badRequest(
    `"${name}" must be the beginning of a path, with at most ${FILE_PATH_BYTES} bytes of UTF-8.`,
  );
}

function badPath(what: string) {
  return badRequest(
    `Invalid file path: ${what}.`,
    'A path has names joined by slashes, such as src/main.ts.',
  );
}

/**
 * Location of a file. The first segment of every key contains the space, so a space is listed and sharded as
 * one unit.
 */
export interface FilePlace {
  readonly tenant: string;
  readonly space: string;
  readonly path: string;
  /** Caller of the request. Only files that its API key may see are found. The caller is not stored. */
  readonly caller?: Caller;
}

/** Checks the names and returns the location of a file. */
export function toFilePlace(caller: Caller, space: unknown, path: unknown): FilePlace {
  return { tenant: caller.tenant, space: checkSpace(space), path: checkPath(path), caller };
}

type Space = Pick<FilePlace, 'tenant' | 'space'>;

const segmentOf = ({ tenant, space }: Space) => `fil.${tenant}.${space}/`;
/** Prefix of the head records. */
export const headsPrefix = (at: Space) => `${segmentOf(at)}at/`;
export const headKey = (at: FilePlace) => headsPrefix(at) + at.path;
/**
 * Prefix of the records of earlier versions: of one file if its `id` is given, otherwise of all files in the
 * space.
 */
export const versionsPrefix = (at: Space, id?: string) =>
  id === undefined ? `${segmentOf(at)}old/` : `${segmentOf(at)}old/${id}/`;
export const versionKey = (at: Space, id: string, version: number) =>
  versionsPrefix(at, id) + String(version).padStart(12, '0');
/** Prefix of the blobs. Every attempt to write uses a new blob. */
export const blobsPrefix = (at: Space) => `${segmentOf(at)}body/`;
export const blobKey = (at: Space, attempt: string) => blobsPrefix(at) + attempt;
/** Name of a file in the expiry index. */
export const endName = ({ tenant, space, path }: FilePlace) => `${tenant}.${space}/${path}`;

/** Prefix of the records that list the spaces of a tenant. */
export const spacesPrefix = (tenant: string) => `ten.${tenant}/spaces/`;
export const spaceKey = ({ tenant, space }: Space) => spacesPrefix(tenant) + space;

/** Index of files by expiry time. */
export const fileEnds = (deps: Pick<Deps, 'engine' | 'env'>) => new EndIndex<FilePlace>(deps, 'sys.fil/');
