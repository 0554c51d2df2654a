import { z } from 'zod';
import {
  FILE_TTL_MAX_S,
  FILE_VERSIONS,
  FILE_VERSIONS_MAX,
  FILES_AT_ONCE,
  PAGE_ITEMS_MAX,
} from '../base/limits.ts';
import {
  BYTES,
  cost,
  count,
  idempotencyKey,
  jsonObject,
  limit,
  looseFlag,
  next,
  nullableText,
  optionalText,
  partFields,
  type SchemaRows,
  type Shape,
  searchWords,
  seconds,
  text,
  time,
} from './shapes.ts';

const space = z.string().describe('letters, digits, dots, hyphens and underscores');
const path = z.string().describe('names separated by slashes: `src/main.ts`');
const after = z.string().optional().describe('`next` of the previous page; the page begins after this name');

const file = z.object({
  space,
  path,
  /** Version number from 1. A file that was deleted and created again starts at 1 again. */
  version: count,
  /**
   * Identifies the content and the version, such as `v3-9f86d081884c7d65`. It stays unique even if the file is
   * deleted and created again with other content.
   */
  etag: z.string().describe('`v3-9f86d081884c7d65`; also in the header ETag'),
  size: count,
  sha256: text,
  text: z.boolean().describe('false if the bytes are not valid UTF-8'),
  content_type: nullableText,
  metadata: jsonObject,
  /** Time when the file was created, in ISO 8601, UTC. */
  created_at: time,
  /** Time when this version was written, in ISO 8601, UTC. */
  modified_at: time,
  /** Name of the caller who wrote this version. */
  from: text,
  /** Time of expiry. Null if the file stays until it is deleted. */
  expires_at: time.nullable(),
});
/** The properties of a file or of one of its versions, without the content. */
export interface FileInfo extends Shape<typeof file> {}

const ifMatch = optionalText.describe(
  'write or delete only if the file is at this version: `v3`, its ETag, or `*` for any version',
);

const options = z.object({
  content_type: optionalText,
  metadata: jsonObject.optional(),
  /** Time to live in seconds, from this write on. Without it the file stays until it is deleted. */
  ttl: seconds(FILE_TTL_MAX_S).optional().describe('seconds; without it the file stays until it is deleted'),
  /** Number of earlier versions to keep. Default: 20 for a new file, no change for an existing file. */
  keep: z
    .number()
    .int()
    .min(0)
    .max(FILE_VERSIONS_MAX)
    .optional()
    .describe(
      `earlier versions to keep; by default ${FILE_VERSIONS} for a new file, unchanged for an existing one`,
    ),
  /** Writes only if the file is at this version: `3`, `v3`, its etag, or `*` for any version. */
  if_match: ifMatch,
  /** With `*`, writes only if the file does not exist yet. */
  if_none_match: z.literal('*').optional().describe('write only if the file does not exist yet'),
});
export interface FileOptions extends Shape<typeof options> {}

const encoding = z.enum(['utf8', 'base64']);

const fileText = z.object({ content: text, encoding });
/** File content inside JSON: text, or base64 for bytes that are not text. */
export interface FileText extends Shape<typeof fileText> {}

const draft = z.object({
  path,
  content: text,
  /** Encoding of `content`. Default: `utf8`. */
  encoding: encoding.optional(),
  ...options.shape,
});
export interface FileDraft extends Shape<typeof draft> {}

const refused = z.object({ path, error: text, code: text, hint: text });
/** A file of a batch that was not written, with the error. */
export interface FileRefused extends Shape<typeof refused> {}

const listOptions = z.object({
  prefix: z.string().optional().describe('only paths that begin with this'),
  delimiter: z
    .literal('/')
    .optional()
    .describe('list one folder: deeper files are reported only as folders in `prefixes`'),
  q: searchWords.describe('words in the path'),
  after,
  limit: limit(PAGE_ITEMS_MAX),
});
export interface ListOptions extends Shape<typeof listOptions> {}

const filePage = z.object({
  files: z.array(file),
  /** With a delimiter: the subfolders. Each name ends with the delimiter. */
  prefixes: z.array(text).optional().describe('subfolders, if a delimiter was given'),
  ...next,
});
export interface FilePage extends Shape<typeof filePage> {}

const many = <T extends z.ZodType>(of: T) => z.array(of).max(FILES_AT_ONCE).readonly();

export const fileSchemas = {
  spaces: {
    input: z.object({ after, limit: limit(PAGE_ITEMS_MAX) }),
    output: z.object({ spaces: z.array(z.object({ space })), ...next }),
  },
  list: { input: z.object({ space, ...listOptions.shape }), output: filePage },
  put: {
    input: z.object({
      space,
      path,
      ...options.shape,
      metadata: optionalText.describe('a JSON object in base64url'),
      idempotency_key: idempotencyKey,
    }),
    output: file,
  },
  get: {
    input: z.object({
      space,
      path,
      version: z.coerce.number().int().min(1).optional().describe('an earlier version'),
      ...partFields,
      cost: looseFlag.optional().describe('return the number of tokens instead of the content'),
      info: looseFlag.optional().describe('return the properties of the file instead of the content'),
      log: looseFlag.optional().describe('return the versions of the file, newest first'),
    }),
    output: z.union([file, z.object({ versions: z.array(file) }), cost]),
    ...BYTES,
    also: { ...BYTES.also, 304: 'Not modified: the client already has this content.' },
  },
  delete: { input: z.object({ space, path, if_match: ifMatch }), output: z.null() },
  read: {
    input: z.object({ space, paths: many(path) }),
    output: z.object({
      files: z.array(file.extend(fileText.shape)),
      missing: z.array(path),
      left: z.array(path).describe('did not fit into the answer: request them again'),
    }),
    content: ['application/vnd.contextrelay.files'],
  },
  write: {
    input: z.object({ space, files: many(draft) }),
    output: z.object({
      files: z
        .array(z.union([file, refused]))
        .describe('in the order of the request: the file, or why it was not written'),
    }),
  },
  remove: {
    input: z.object({ space, paths: many(path).optional(), prefix: optionalText }),
    output: z.object({
      deleted: count,
      more: z.literal(true).optional().describe('some files are left: send the request again'),
    }),
  },
} satisfies SchemaRows;
