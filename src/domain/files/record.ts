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

/** One version of a file. What is stored of it never changes. */
export interface FileVersion {
  readonly version: number;
  readonly blob: string;
  readonly size: number;
  readonly sha256: string;
  readonly text: boolean;
  readonly type: string | null;
  readonly metadata: JsonObject;
  /** When it was written, and by which key under which name. */
  readonly at: number;
  readonly by: string;
  readonly from: string;
  /** Of the request that wrote it: one that comes again with it changes nothing. */
  readonly request: string | null;
}

/** A file as it is now. Replacing this record is what commits a write. */
export interface FileHead {
  /** Tells the file from one of the same path that was deleted before. */
  readonly id: string;
  readonly created: number;
  /** From then on the file is invisible and waits to be removed; 0 for one that was deleted. */
  readonly expires: number | null;
  /** How many earlier versions it keeps, and the oldest that it has. */
  readonly keep: number;
  readonly first: number;
  /** What those count for in the storage of the tenant. */
  readonly earlierBytes: number;
  readonly current: FileVersion;
}

export interface StoredHead {
  readonly value: FileHead;
  readonly revision: number;
}

/** What a version counts for in the storage of its tenant: its body, and what is told of it. */
export function storedBytes(version: FileVersion): number {
  return version.size + utf8Bytes(JSON.stringify(version));
}

/** The same of a file with the versions that it keeps. */
export function storedBytesOf({ current, earlierBytes }: FileHead): number {
  return storedBytes(current) + earlierBytes;
}

export function hasEnded({ expires }: FileHead, now: number): boolean {
  return expires !== null && expires <= now;
}

/** Whether whoever asks reaches the file: where its key is bound to channels, it wrote the current version. */
export function isReached({ caller }: Pick<FilePlace, 'caller'>, { current }: FileHead): boolean {
  return caller === undefined || reaches(caller, { by: current.by });
}

export function describe({ space, path }: FilePlace, head: FileHead, version = head.current): FileInfo {
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

/** Whether the file is as a writer expects it; `head` is null where there is none. */
export function checkConditions(
  { path }: FilePlace,
  o: Pick<FileOptions, 'if_match' | 'if_none_match'>,
  head: FileHead | null,
): void {
  const { if_match, if_none_match } = o;
  const fits =
    (if_match === undefined || (head !== null && isAt(head.current, if_match))) &&
    (if_none_match === undefined || head === null);
  if (fits) return;
  const current = head ? `at ${etagOf(head.current)}` : 'not there';
  throw new RelayError('file_changed', { path, current });
}

/** `3`, `v3`, an ETag with or without its quotes, several of these, or `*`. */
function isAt(current: FileVersion, condition: string): boolean {
  return condition.split(',').some((one) => {
    const wanted = one.trim().replace(/^"|"$/g, '');
    if (/^v?\d{1,15}$/.test(wanted)) return Number(wanted.replace('v', '')) === current.version;
    return wanted === '*' || wanted === etagOf(current);
  });
}

/** What a writer says of a file, checked; the moment it expires is told from `now`. */
export function checkFileOptions(o: FileOptions, now: number) {
  const { ttl, keep, if_none_match } = o;
  if (ttl !== undefined && !(typeof ttl === 'number' && ttl >= 1 && ttl <= FILE_TTL_MAX_S))
    throw badRequest(`"ttl" is a number of seconds from 1 to ${FILE_TTL_MAX_S}; without it the file stays.`);
  if (keep !== undefined && !(Number.isInteger(keep) && keep >= 0 && keep <= FILE_VERSIONS_MAX))
    throw badRequest(`"keep" is a whole number from 0 to ${FILE_VERSIONS_MAX}.`);
  if (if_none_match !== undefined && if_none_match !== '*')
    throw badRequest('"If-None-Match" is * where a file is written: only if there is none yet.');
  return {
    metadata: checkMetadata(o.metadata, FILE_METADATA_BYTES),
    type: shortText('content_type', o.content_type, 256),
    expires: ttl === undefined ? null : now + Math.round(ttl * 1000),
  };
}

/** What files are called, and where they are kept. */

const SPACE = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${SPACE_NAME_CHARS - 1}}$`);

export function checkSpace(space: unknown): string {
  if (typeof space === 'string' && SPACE.test(space)) return space;
  throw badRequest(
    `A space is called by 1 to ${SPACE_NAME_CHARS} letters, digits, dots, hyphens and underscores, such as "notes".`,
  );
}

/**
 * A path is taken as it is given: nothing is resolved, normalised or folded. What a file system or a URL would take for
 * another place is refused.
 */
export function checkPath(path: unknown): string {
  if (typeof path !== 'string' || path === '') throw badPath('it must not be empty');
  if (!path.isWellFormed()) throw badPath('it holds half of a surrogate pair');
  if (/[\u0000-\u001f\u007f\\]/.test(path)) throw badPath('it holds a control character or a backslash');
  if (utf8Bytes(path) > FILE_PATH_BYTES) throw badPath(`it is longer than ${FILE_PATH_BYTES} bytes`);
  for (const name of path.split('/')) {
    if (name === '') throw badPath('it begins or ends with a slash, or has two in a row');
    if (name === '.' || name === '..') throw badPath(`it holds "${name}"`);
    if (utf8Bytes(name) > FILE_NAME_BYTES)
      throw badPath(`a name in it is longer than ${FILE_NAME_BYTES} bytes`);
  }
  return path;
}

/** The beginning of a path, or a place in a listing, which no file need have. */
export function checkPrefix(name: string, prefix: string | undefined): string {
  if (prefix === undefined) return '';
  if (prefix.isWellFormed() && !prefix.includes('\0') && utf8Bytes(prefix) <= FILE_PATH_BYTES) return prefix;
  throw badRequest(`"${name}" is the beginning of a path: at most ${FILE_PATH_BYTES} bytes of Unicode.`);
}

function badPath(what: string) {
  return badRequest(
    `That is no path of a file: ${what}.`,
    'A path is made of names joined by slashes, such as src/main.ts.',
  );
}

/** Where a file is: its space is one segment, the unit of listing and sharding. */
export interface FilePlace {
  readonly tenant: string;
  readonly space: string;
  readonly path: string;
  /** Who asks for the file, and finds it only where its key reaches it; not stored. */
  readonly caller?: Caller;
}

export function placeOf(caller: Caller, space: unknown, path: unknown): FilePlace {
  return { tenant: caller.tenant, space: checkSpace(space), path: checkPath(path), caller };
}

type Space = Pick<FilePlace, 'tenant' | 'space'>;

const segmentOf = ({ tenant, space }: Space) => `fil.${tenant}.${space}/`;
/** The records of the files as they are now. */
export const headsPrefix = (at: Space) => `${segmentOf(at)}at/`;
export const headKey = (at: FilePlace) => headsPrefix(at) + at.path;
/** Earlier versions, by the id that a file is given when it is made. */
export const versionsPrefix = (at: Space, id?: string) =>
  id === undefined ? `${segmentOf(at)}old/` : `${segmentOf(at)}old/${id}/`;
export const versionKey = (at: Space, id: string, version: number) =>
  versionsPrefix(at, id) + String(version).padStart(12, '0');
/** Every attempt to write has a blob of its own. */
export const blobsPrefix = (at: Space) => `${segmentOf(at)}body/`;
export const blobKey = (at: Space, attempt: string) => blobsPrefix(at) + attempt;
/** In the index of what ends by itself. */
export const endName = ({ tenant, space, path }: FilePlace) => `${tenant}.${space}/${path}`;

export const spacesPrefix = (tenant: string) => `ten.${tenant}/spaces/`;
export const spaceKey = ({ tenant, space }: Space) => spacesPrefix(tenant) + space;

/** Which files end when. */
export const fileEnds = (deps: Pick<Deps, 'engine' | 'env'>) => new EndIndex<FilePlace>(deps, 'sys.fil/');
