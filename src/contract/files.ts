import type { BlobBody, ByteRange } from '../kernel/blobs.ts';
import type * as shapes from '../schemas/files.ts';
import type { Part, PartRequest } from '../text/parts/part-request.ts';
import type { Cost, LocalOptions } from './pointers.ts';
import { type Api, verbs } from './verb.ts';

export type * from '../schemas/files.ts';

export interface FileInput extends shapes.FileOptions {
  readonly body: BlobBody;
  /** Number of bytes of the body, if known in advance. */
  readonly size?: number;
  /** Idempotency key. Repeating the latest write with its idempotency key changes nothing, so a retry is safe. */
  readonly idempotency_key?: string;
}

export interface FileContent {
  readonly file: shapes.FileInfo;
  readonly body: BlobBody;
  /** Position of `body` within the file; `end` is exclusive. */
  readonly range?: ByteRange;
}

/** A file with its content. */
export interface FileWithBytes extends shapes.FileInfo {
  readonly content: Uint8Array;
}

/** A file to write. `encoding` says how bytes are encoded in a text. */
export interface NewFile extends Omit<shapes.FileDraft, 'content'> {
  readonly content: string | Uint8Array;
}

type Version = { readonly version?: number };
type OfFile<O, T> = (space: string, path: string, o?: O) => Promise<T>;

const read = { route: 'GET /files/:space/:path{[\\s\\S]+}' } as const;

const verb = verbs({ scope: 'files', args: ['space', 'path'] });

export const files = {
  /** Lists spaces that contain at least one file, sorted by name. */
  spaces: verb<
    (o?: {
      after?: string;
      limit?: number;
    }) => Promise<{ spaces: readonly { readonly space: string }[]; next?: string }>
  >('files.spaces')({
    summary: 'List spaces, sorted by name',
    route: 'GET /files',
    args: [],
  }),
  /** Lists files, sorted by the UTF-8 bytes of their paths. */
  list: verb<(space: string, o?: shapes.ListOptions) => Promise<shapes.FilePage>>('files.list')({
    summary: 'List the files of a space, optionally by prefix; with delimiter=/ one folder at a time',
    route: 'GET /files/:space',
    args: ['space'],
  }),
  put: verb<(space: string, path: string, input: FileInput) => Promise<shapes.FileInfo>, 'input'>(
    'files.put',
  )({
    summary: 'Write a file from the request body; earlier versions stay readable',
    route: 'PUT /files/:space/:path{[\\s\\S]+}',
    headers: {
      if_match: 'If-Match',
      if_none_match: 'If-None-Match',
      idempotency_key: 'Idempotency-Key',
      metadata: 'Relay-Metadata',
      content_type: 'Content-Type',
    },
    query: ['ttl', 'keep'],
    raw: [],
    byHand: 'both',
  }),
  get: verb<OfFile<Version & { range?: ByteRange }, FileContent>, 'input' | 'output'>('files.get')({
    ...read,
    summary:
      'Read the bytes of a file, or a part of it; info=1 returns its properties as JSON, log=1 its versions',
    byHand: 'both',
  }),
  info: verb<OfFile<Version, shapes.FileInfo>>('files.info')({
    ...read,
    summary: 'Get the properties of a file',
    byHand: 'variant',
  }),
  /** Returns the stored versions, newest first. */
  log: verb<OfFile<never, shapes.FileInfo[]>>('files.log')({
    ...read,
    summary: 'List the versions of a file, newest first',
    byHand: 'variant',
  }),
  part: verb<(space: string, path: string, part: PartRequest, o?: Version & LocalOptions) => Promise<Part>>(
    'files.part',
  )({
    ...read,
    args: ['space', 'path', 'part'],
    summary: 'Read a part of a file',
    byHand: 'variant',
  }),
  cost: verb<(space: string, path: string, part?: PartRequest, o?: Version & LocalOptions) => Promise<Cost>>(
    'files.cost',
  )({
    ...read,
    args: ['space', 'path', 'part'],
    summary: 'Count the tokens of a file or of a part of it',
    byHand: 'variant',
  }),
  /** Deletes a file and all its versions. */
  delete: verb<OfFile<{ if_match?: string }, void>>('files.delete')({
    summary: 'Delete a file and all its versions',
    route: 'DELETE /files/:space/:path{[\\s\\S]+}',
    headers: { if_match: 'If-Match' },
    status: 204,
    repeatable: true,
    byHand: 'server',
  }),
  /** Reads several small files in one request. `left` lists the paths that did not fit into the answer. */
  read: verb<
    (
      space: string,
      paths: readonly string[],
    ) => Promise<{ files: FileWithBytes[]; missing: string[]; left: string[] }>,
    'output'
  >('files.read')({
    args: ['space', 'paths'],
    summary: 'Read several small files at once',
    route: 'POST /files/:space/read',
    repeatable: true,
    byHand: 'both',
  }),
  /**
   * Writes several files. Each file succeeds or fails by itself. Returns one result per file, in the order of the
   * files.
   */
  write: verb<
    (
      space: string,
      files: readonly NewFile[],
    ) => Promise<{ files: (shapes.FileInfo | shapes.FileRefused)[] }>,
    'input'
  >('files.write')({
    args: ['space', 'files'],
    summary: 'Write several small files at once; each succeeds or fails by itself',
    route: 'POST /files/:space/write',
    byHand: 'both',
  }),
  /** Deletes several files. A missing file is not an error. If the answer has `more`, call it again for the rest. */
  remove: verb<
    (
      space: string,
      o: { paths?: readonly string[]; prefix?: string },
    ) => Promise<{ deleted: number; more?: true }>
  >('files.remove')({
    args: ['space'],
    summary: 'Delete several files, by path or by prefix',
    route: 'POST /files/:space/delete',
    repeatable: true,
  }),
};

export interface FilesApi extends Api<typeof files> {}
