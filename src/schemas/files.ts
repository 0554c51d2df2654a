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
  jsonObject,
  limit,
  looseFlag,
  next,
  nullableText,
  optionalText,
  partFields,
  type SchemaRows,
  type Shape,
  seconds,
  text,
  time,
} from './shapes.ts';

const space = z.string().describe('letters, digits, dots, hyphens and underscores');
const path = z.string().describe('names joined by slashes: `src/main.ts`');
const after = z.string().optional().describe('the `next` of the page before, or any path');

const file = z.object({
  space,
  path,
  /** Counted from 1 for each file. One that was deleted and made again begins anew. */
  version: count,
  /** Tells versions apart, also those of a file that was deleted and made again: `v3-9f86d081884c7d65`. */
  etag: z.string().describe('`v3-9f86d081884c7d65`; in the header ETag too'),
  size: count,
  sha256: text,
  text: z.boolean().describe('false for bytes that are not valid UTF-8'),
  content_type: nullableText,
  metadata: jsonObject,
  /** When the file was made, and when this version was written: ISO 8601, UTC. */
  created_at: time,
  modified_at: time,
  /** Who wrote this version. */
  from: text,
  /** Null where it stays until it is deleted. */
  expires_at: time.nullable(),
});
/** A file as it is, or one of its versions: never the content. */
export interface FileInfo extends Shape<typeof file> {}

const ifMatch = optionalText.describe(
  'only where the file is at this version: `v3`, its ETag, or `*` for any',
);

const options = z.object({
  content_type: optionalText,
  metadata: jsonObject.optional(),
  /** Seconds from this write on; without it the file stays until it is deleted. */
  ttl: seconds(FILE_TTL_MAX_S).optional().describe('seconds; without it the file stays until it is deleted'),
  /** How many earlier versions to keep; for a new file 20 by default, later as many as it kept before. */
  keep: z
    .number()
    .int()
    .min(0)
    .max(FILE_VERSIONS_MAX)
    .optional()
    .describe(`earlier versions to keep; ${FILE_VERSIONS} for a new file, then as many as it kept before`),
  /** Only where the file is at this version: `3`, `v3`, its etag, or `*` for any. */
  if_match: ifMatch,
  /** `*`: only where there is no such file yet. */
  if_none_match: z.literal('*').optional().describe('only where there is no such file yet'),
});
export interface FileOptions extends Shape<typeof options> {}

const encoding = z.enum(['utf8', 'base64']);

const fileText = z.object({ content: text, encoding });
/** A content inside JSON: as text, or in base64 where it is none. */
export interface FileText extends Shape<typeof fileText> {}

const draft = z.object({
  path,
  content: text,
  /** `utf8` by default. */
  encoding: encoding.optional(),
  ...options.shape,
});
export interface FileDraft extends Shape<typeof draft> {}

const refused = z.object({ path, error: text, code: text, hint: text });
/** One of several files that was not written, and why. */
export interface FileRefused extends Shape<typeof refused> {}

const listOptions = z.object({
  prefix: z.string().optional().describe('the beginning of the paths'),
  delimiter: z.literal('/').optional().describe('tells what lies deeper by its folder alone'),
  after,
  limit: limit(PAGE_ITEMS_MAX),
});
export interface ListOptions extends Shape<typeof listOptions> {}

const filePage = z.object({
  files: z.array(file),
  /** With a delimiter: what lies deeper, each folder once, with the delimiter at its end. */
  prefixes: z.array(text).optional().describe('folders, where a delimiter was given'),
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
      idempotency_key: optionalText,
    }),
    output: file,
  },
  get: {
    input: z.object({
      space,
      path,
      version: z.coerce
        .number()
        .int()
        .min(1)
        .optional()
        .describe('an earlier version, as the history has it'),
      ...partFields,
      cost: looseFlag.optional().describe('the token price instead of the content'),
      info: looseFlag.optional().describe('what is known of the file instead of the content'),
      log: looseFlag.optional().describe('its versions, newest first'),
    }),
    output: z.union([file, z.object({ versions: z.array(file) }), cost]),
    ...BYTES,
    also: { ...BYTES.also, 304: 'The client has it already.' },
  },
  delete: { input: z.object({ space, path, if_match: ifMatch }), output: z.null() },
  read: {
    input: z.object({ space, paths: many(path) }),
    output: z.object({
      files: z.array(file.extend(fileText.shape)),
      missing: z.array(path),
      left: z.array(path).describe('had no room in the answer: ask for them again'),
    }),
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
      more: z.literal(true).optional().describe('some are left: ask again'),
    }),
  },
} satisfies SchemaRows;
