import type { BlobBody, ByteRange } from '../kernel/blobs.ts';
import type * as shapes from '../schemas/files.ts';
import type { Part, PartRequest } from '../text/parts/part-request.ts';
import type { Cost, LocalOptions } from './pointers.ts';
import { type Api, verbs } from './verb.ts';

export type * from '../schemas/files.ts';

export interface FileInput extends shapes.FileOptions {
  readonly body: BlobBody;
  /** Bytes of the body, where known ahead. */
  readonly size?: number;
  /** A repetition of the write that the file is at now, with the same key, changes nothing. */
  readonly idempotency_key?: string;
}

export interface FileContent {
  readonly file: shapes.FileInfo;
  readonly body: BlobBody;
  /** The bytes of `body` within the file; `end` is exclusive. */
  readonly range?: ByteRange;
}

type Version = { readonly version?: number };
type OfFile<O, T> = (space: string, path: string, o?: O) => Promise<T>;

const read = { route: 'GET /files/:space/:path{[\\s\\S]+}' } as const;

const verb = verbs({ scope: 'files', args: ['space', 'path'] });

export const files = {
  /** Spaces that hold a file, by name. */
  spaces: verb<
    (o?: {
      after?: string;
      limit?: number;
    }) => Promise<{ spaces: readonly { readonly space: string }[]; next?: string }>
  >('files.spaces')({
    summary: 'The spaces there are, by name',
    route: 'GET /files',
    args: [],
  }),
  /** In the order of the paths' UTF-8 bytes. */
  list: verb<(space: string, o?: shapes.ListOptions) => Promise<shapes.FilePage>>('files.list')({
    summary: 'The files of a space, or those below a prefix; with delimiter=/ one folder at a time',
    route: 'GET /files/:space',
    args: ['space'],
  }),
  put: verb<(space: string, path: string, input: FileInput) => Promise<shapes.FileInfo>, 'input'>(
    'files.put',
  )({
    summary: 'Write a file, which is the body; earlier versions of it stay readable',
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
    summary: 'Read a file: its bytes, a part of it, its history with log=1, what is known of it with info=1',
    byHand: 'both',
  }),
  info: verb<OfFile<Version, shapes.FileInfo>>('files.info')({
    ...read,
    summary: 'What is known of a file',
    byHand: 'variant',
  }),
  /** The versions that are kept, newest first. */
  log: verb<OfFile<never, shapes.FileInfo[]>>('files.log')({
    ...read,
    summary: 'The versions of a file, newest first',
    byHand: 'variant',
  }),
  part: verb<(space: string, path: string, part: PartRequest, o?: Version & LocalOptions) => Promise<Part>>(
    'files.part',
  )({
    ...read,
    args: ['space', 'path', 'part'],
    summary: 'A part of a file',
    byHand: 'variant',
  }),
  cost: verb<(space: string, path: string, part?: PartRequest, o?: Version & LocalOptions) => Promise<Cost>>(
    'files.cost',
  )({
    ...read,
    args: ['space', 'path', 'part'],
    summary: 'What a file, or a part of it, would cost a model',
    byHand: 'variant',
  }),
  /** With all its versions. */
  delete: verb<OfFile<{ if_match?: string }, void>>('files.delete')({
    summary: 'Delete a file with all its versions',
    route: 'DELETE /files/:space/:path{[\\s\\S]+}',
    headers: { if_match: 'If-Match' },
    status: 204,
    repeatable: true,
    byHand: 'server',
  }),
  /** Several small files in one round trip. What has no room in the answer is named in `left`. */
  read: verb<
    (
      space: string,
      paths: readonly string[],
    ) => Promise<{ files: (shapes.FileInfo & shapes.FileText)[]; missing: string[]; left: string[] }>
  >('files.read')({
    args: ['space', 'paths'],
    summary: 'Read several small files at once',
    route: 'POST /files/:space/read',
    repeatable: true,
  }),
  /** Each is written whole or not at all, and by itself: the answer says for each, in the same order, what became of it. */
  write: verb<
    (
      space: string,
      files: readonly shapes.FileDraft[],
    ) => Promise<{ files: (shapes.FileInfo | shapes.FileRefused)[] }>
  >('files.write')({
    args: ['space', 'files'],
    summary: 'Write several small files at once, each whole or not at all',
    route: 'POST /files/:space/write',
  }),
  /** Files that are not there are no error. With `more`, call it again: some are left. */
  remove: verb<
    (
      space: string,
      o: { paths?: readonly string[]; prefix?: string },
    ) => Promise<{ deleted: number; more?: true }>
  >('files.remove')({
    args: ['space'],
    summary: 'Delete several files, by name or below a prefix',
    route: 'POST /files/:space/delete',
    repeatable: true,
  }),
};

export interface FilesApi extends Api<typeof files> {}
