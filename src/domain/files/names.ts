import { badRequest } from '../../base/errors.ts';
import { FILE_NAME_BYTES, FILE_PATH_BYTES, SPACE_NAME_CHARS } from '../../base/limits.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import type { Caller } from '../../contract/caller.ts';

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
