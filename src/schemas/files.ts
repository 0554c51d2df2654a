import { z } from 'zod';
import {
  FILE_TTL_MAX_S,
  FILE_VERSIONS,
  FILE_VERSIONS_MAX,
  FILES_AT_ONCE,
  PAGE_ITEMS_MAX,
} from '../base/limits.ts';
import { files } from '../contract/files.ts';
import { BYTES, schemasFor } from './schema.ts';
import {
  count,
  jsonObject,
  limit,
  looseFlag,
  nullableText,
  optionalText,
  partFields,
  text,
  time,
  tokenCount,
} from './shapes.ts';

const space = z.string().describe('letters, digits, dots, hyphens and underscores');
const path = z.string().describe('names joined by slashes: `src/main.ts`');
const after = z.string().optional().describe('the `next` of the page before, or any path');
const version = z.coerce
  .number()
  .int()
  .min(1)
  .optional()
  .describe('an earlier version, as the history has it');

const file = z.object({
  space,
  path,
  version: count,
  etag: z.string().describe('`v3-9f86d081884c7d65`; in the header ETag too'),
  size: count,
  sha256: text,
  text: z.boolean().describe('false for bytes that are not valid UTF-8'),
  content_type: nullableText,
  metadata: jsonObject,
  created_at: time,
  modified_at: time,
  from: text,
  expires_at: time.nullable(),
});

const ifMatch = optionalText.describe(
  'only where the file is at this version: `v3`, its ETag, or `*` for any',
);
const ifNoneMatch = z.literal('*').optional().describe('only where there is no such file yet');

const options = {
  content_type: optionalText,
  metadata: jsonObject.optional(),
  ttl: z
    .number()
    .min(1)
    .max(FILE_TTL_MAX_S)
    .optional()
    .describe('seconds; without it the file stays until it is deleted'),
  keep: z
    .number()
    .int()
    .min(0)
    .max(FILE_VERSIONS_MAX)
    .optional()
    .describe(`earlier versions to keep; ${FILE_VERSIONS} for a new file, then as many as it kept before`),
  if_match: ifMatch,
  if_none_match: ifNoneMatch,
};

const encoding = z.enum(['utf8', 'base64']);
const many = <T extends z.ZodType>(of: T) => z.array(of).max(FILES_AT_ONCE).readonly();

export const fileSchemas = schemasFor(files)({
  spaces: {
    input: z.object({ after, limit: limit(PAGE_ITEMS_MAX) }),
    output: z.object({ spaces: z.array(z.object({ space })), next: optionalText }),
  },
  list: {
    input: z.object({
      space,
      prefix: z.string().optional().describe('the beginning of the paths'),
      delimiter: z.literal('/').optional().describe('tells what lies deeper by its folder alone'),
      after,
      limit: limit(PAGE_ITEMS_MAX),
    }),
    output: z.object({
      files: z.array(file),
      prefixes: z.array(text).optional().describe('folders, where a delimiter was given'),
      next: optionalText,
    }),
  },
  put: {
    input: z.object({
      space,
      path,
      ...options,
      metadata: optionalText.describe('a JSON object in base64url'),
      idempotency_key: optionalText,
    }),
    output: file,
  },
  get: {
    input: z.object({
      space,
      path,
      version,
      ...partFields,
      cost: looseFlag.optional().describe('the token price instead of the content'),
      info: looseFlag.optional().describe('what is known of the file instead of the content'),
      log: looseFlag.optional().describe('its versions, newest first'),
    }),
    output: z.union([file, z.object({ versions: z.array(file) }), tokenCount.extend({ bytes: count })]),
    ...BYTES,
    also: { ...BYTES.also, 304: 'The client has it already.' },
  },
  delete: {
    input: z.object({ space, path, if_match: ifMatch }),
    output: z.null(),
  },
  read: {
    input: z.object({ space, paths: many(path) }),
    output: z.object({
      files: z.array(file.extend({ content: text, encoding })),
      missing: z.array(path),
      left: z.array(path).describe('had no room in the answer: ask for them again'),
    }),
  },
  write: {
    input: z.object({
      space,
      files: many(z.object({ path, content: text, encoding: encoding.optional(), ...options })),
    }),
    output: z.object({
      files: z
        .array(z.union([file, z.object({ path, error: text, code: text, hint: text })]))
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
});
