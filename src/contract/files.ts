import type { JsonObject } from '../base/json.ts';
import type { BlobBody, ByteRange } from '../kernel/blobs.ts';
import type { Part, PartRequest } from '../text/parts/part-request.ts';
import type { Cost, LocalOptions } from './pointers.ts';
import { type Api, verbs } from './verb.ts';

/** Field names are those on the wire, so that local and remote are one type. */

/** A file as it is, or one of its versions: never the content. */
export interface FileInfo {
  readonly space: string;
  readonly path: string;
  /** Counted from 1 for each file. One that was deleted and made again begins anew. */
  readonly version: number;
  /** Tells versions apart, also those of a file that was deleted and made again: `v3-9f86d081884c7d65`. */
  readonly etag: string;
  readonly size: number;
  readonly sha256: string;
  /** False for bytes that are not valid UTF-8. */
  readonly text: boolean;
  readonly content_type: string | null;
  readonly metadata: JsonObject;
  /** When the file was made, and when this version was written: ISO 8601, UTC. */
  readonly created_at: string;
  readonly modified_at: string;
  /** Who wrote this version. */
  readonly from: string;
  /** Null where it stays until it is deleted. */
  readonly expires_at: string | null;
}

export interface FileOptions {
  readonly content_type?: string;
  readonly metadata?: JsonObject;
  /** Seconds from this write on; without it the file stays until it is deleted. */
  readonly ttl?: number;
  /** How many earlier versions to keep; for a new file 20 by default, later as many as it kept before. */
  readonly keep?: number;
  /** Only where the file is at this version: `3`, `v3`, its etag, or `*` for any. */
  readonly if_match?: string;
  /** `*`: only where there is no such file yet. */
  readonly if_none_match?: '*';
}

export interface FileInput extends FileOptions {
  readonly body: BlobBody;
  /** Bytes of the body, where known ahead. */
  readonly size?: number;
  /** A repetition of the write that the file is at now, with the same key, changes nothing. */
  readonly idempotency_key?: string;
}

/** A content inside JSON: as text, or in base64 where it is none. */
export interface FileText {
  readonly content: string;
  readonly encoding: 'utf8' | 'base64';
}

export interface FileDraft extends FileOptions {
  readonly path: string;
  readonly content: string;
  /** `utf8` by default. */
  readonly encoding?: 'utf8' | 'base64';
}

/** One of several files that was not written, and why. */
export interface FileRefused {
  readonly path: string;
  readonly error: string;
  readonly code: string;
  readonly hint: string;
}

export interface FileContent {
  readonly file: FileInfo;
  readonly body: BlobBody;
  /** The bytes of `body` within the file; `end` is exclusive. */
  readonly range?: ByteRange;
}

export interface FilePage {
  readonly files: readonly FileInfo[];
  /** With a delimiter: what lies deeper, each folder once, with the delimiter at its end. */
  readonly prefixes?: readonly string[];
  /** Pass as `after` to go on; absent at the end. */
  readonly next?: string;
}

export interface ListOptions {
  readonly prefix?: string;
  readonly delimiter?: '/';
  readonly after?: string;
  readonly limit?: number;
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
  list: verb<(space: string, o?: ListOptions) => Promise<FilePage>>('files.list')({
    summary: 'The files of a space, or those below a prefix; with delimiter=/ one folder at a time',
    route: 'GET /files/:space',
    args: ['space'],
  }),
  put: verb<(space: string, path: string, input: FileInput) => Promise<FileInfo>, 'input'>('files.put')({
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
  info: verb<OfFile<Version, FileInfo>>('files.info')({
    ...read,
    summary: 'What is known of a file',
    byHand: 'variant',
  }),
  /** The versions that are kept, newest first. */
  log: verb<OfFile<never, FileInfo[]>>('files.log')({
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
    ) => Promise<{ files: (FileInfo & FileText)[]; missing: string[]; left: string[] }>
  >('files.read')({
    args: ['space', 'paths'],
    summary: 'Read several small files at once',
    route: 'POST /files/:space/read',
    repeatable: true,
  }),
  /** Each is written whole or not at all, and by itself: the answer says for each, in the same order, what became of it. */
  write: verb<(space: string, files: readonly FileDraft[]) => Promise<{ files: (FileInfo | FileRefused)[] }>>(
    'files.write',
  )({
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
