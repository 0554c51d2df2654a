import { z } from 'zod';
import type { ErrorCode } from '../base/errors.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { CHANNEL_NAME_CHARS, GREP_CONTEXT_LINES, PAGE_ITEMS_MAX } from '../base/limits.ts';

/**
 * What the schemas of all nouns are made from. A schema is the only place that says a shape; its type is inferred:
 * `export interface Task extends Shape<typeof task> {}`. A comment on a key is what users of the SDK read in their editor;
 * `.describe()` is what the OpenAPI document says, and the editor too where there is no comment.
 */

/** The type of a schema, read-only all the way down. */
export type Shape<S extends z.ZodType> = Frozen<z.output<S>>;

/** JSON stays JSON. The index signature of an object that may have more fields than it names is left out. */
export type Frozen<T> = [Json] extends [T]
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends readonly (infer E)[]
      ? readonly Frozen<E>[]
      : [string, JsonObject] extends [keyof T, T]
        ? T
        : {
            readonly [K in keyof T as string extends K ? (unknown extends T[K] ? never : K) : K]: Frozen<
              T[K]
            >;
          };

/** The half of a verb that only servers need: the schemas of what comes in and what goes out. */
export interface Schemas {
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  /** Content types that the answer may have beside JSON. */
  readonly content?: readonly string[];
  /** Statuses of an answer beside the one of success, and what they mean. */
  readonly also?: { readonly [status: number]: string };
  /** What it may be refused with beside all that follows from its row. */
  readonly codes?: readonly ErrorCode[];
}

/** The schemas of a group of verbs, by the method. */
export type SchemaRows = { readonly [method: string]: Schemas };

/** Bytes that come whole or as the range that was asked for. */
export const BYTES = {
  content: ['text/plain', 'application/octet-stream'],
  also: { 206: 'The range that was asked for.' },
  codes: ['range_not_satisfiable'],
} as const satisfies Partial<Schemas>;

export const text = z.string();
export const optionalText = z.string().optional();
export const nullableText = z.string().nullable();
export const count = z.number().int();
export const time = z.iso.datetime();
export const pointerId = z.uuid();
/** One that is malformed is as unknown as any other: the domain says so. */
export const threadId = z.string().meta({ format: 'uuid' });
export const stateRef = z.string().describe('`v7`');
/** Of an artifact. */
export const ref = z.string().describe('25 or 26 hex characters');

/** Anything that JSON can say. It came out of a JSON parser, or it was never there. */
export const json = z.custom<Json>((value) => value !== undefined);
export const jsonObject: z.ZodType<JsonObject, JsonObject> = z.record(z.string(), json);

/** `0` or `1` in a query. */
export const flag = z.enum(['0', '1']).transform((value) => value === '1');

/** The same for routes that are written by hand, which have always taken more. */
export const looseFlag = z
  .enum(['0', '1', 'true', 'false', ''])
  .transform((value) => value !== '0' && value !== 'false');

/** A time to live, in seconds. */
export const seconds = (most: number) => z.number().min(1).max(most);

/** The same where the domain says what is wrong with it. */
export const toldSeconds = (most: number) => z.number().meta({ minimum: 1, maximum: most });

/** A whole number from a query. */
export const queryNumber = (least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).optional();

/** A part of a text, as a query asks for it. */
export const partFields = {
  lines: z.string().optional().describe('`10-40`, `10-`, `-20` (the last 20) or `7`'),
  grep: optionalText.describe('a regular expression (RE2 syntax); answers matching lines with their numbers'),
  context: queryNumber(0, GREP_CONTEXT_LINES).describe('lines around each match'),
  ignore_case: looseFlag.optional(),
  json: z.string().optional().describe('a JSON Pointer (RFC 6901) into a JSON payload'),
  outline: looseFlag.optional().describe('headings, definitions or the shape, with line numbers'),
};

/** A whole number from a query; its bounds are told here and enforced by the domain. */
export const limit = (most: number) => z.coerce.number().int().meta({ minimum: 1, maximum: most }).optional();

/** A page of a listing: from the query, so everything is text. */
export const page = {
  after: z.string().optional().describe('the `next` of the page before'),
  limit: queryNumber(1, PAGE_ITEMS_MAX),
};

/** Where a listing goes on. */
export const next = {
  /** Pass as `after` to go on; absent at the end. */
  next: optionalText,
};

/** A tenant that an admin of the relay asks about. */
export const otherTenant = z
  .string()
  .max(63)
  .optional()
  .describe('another tenant; only for admins of the relay itself');

/** Counted in characters as people see them, not in UTF-16 units. */
export const channelName = z
  .string()
  .min(1)
  .refine((name) => [...name].length <= CHANNEL_NAME_CHARS, `at most ${CHANNEL_NAME_CHARS} characters`);

export const tokenCount = z.object({
  tokens: count,
  tokenizer: z.string(),
  estimated: z.boolean(),
});

/** What a content, or a part of it, would cost a model. */
export const cost = tokenCount.extend({ bytes: count });
