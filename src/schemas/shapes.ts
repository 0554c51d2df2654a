import { z } from 'zod';
import type { ErrorCode } from '../base/errors.ts';
import type { Json, JsonObject } from '../base/json.ts';
import {
  CHANNEL_NAME_CHARS,
  GREP_CONTEXT_LINES,
  PAGE_ITEMS_MAX,
  SEARCH_WORDS_CHARS,
} from '../base/limits.ts';

/**
 * Building blocks of the schemas. A schema is the only definition of a shape; its type is inferred: `export interface
 * Task extends Shape<typeof task> {}`. The editors of SDK users show the comment of a field, or the text of
 * `.describe()` if it has no comment. OpenAPI contains the text of `.describe()`.
 */

/** The type of a schema, deeply read-only. */
export type Shape<S extends z.ZodType> = Frozen<z.output<S>>;

/**
 * Makes a type deeply read-only. `Json` stays unchanged. The index signature of objects with extra fields is omitted.
 */
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

/** Schemas of the input and the output of a verb. Only servers load them. */
export interface Schemas {
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  /** Content types that the answer may have besides JSON. */
  readonly content?: readonly string[];
  /** Other HTTP statuses of a successful answer, with their meaning. */
  readonly also?: { readonly [status: number]: string };
  /** Error codes of the verb, in addition to those that follow from its declaration. */
  readonly codes?: readonly ErrorCode[];
}

/** The schemas of a group of verbs, by method name. */
export type SchemaRows = { readonly [method: string]: Schemas };

/** Fields of `Schemas` for a verb that answers with bytes: the whole content or the requested range. */
export const BYTES = {
  content: ['text/plain', 'application/octet-stream'],
  also: { 206: 'The requested range.' },
  codes: ['range_not_satisfiable'],
} as const satisfies Partial<Schemas>;

export const text = z.string();
export const optionalText = z.string().optional();
export const idempotencyKey = optionalText.describe(
  'a key of your choice: if you send the request again with this key, the relay does not carry it out twice',
);
export const nullableText = z.string().nullable();
export const count = z.number().int();
export const time = z.iso.datetime();
export const pointerId = z.uuid();
/** Id or handle of a pointer. The schema accepts any string; the domain reports a malformed id as not found. */
export const pointerName = z.string().describe('the id, or the handle, such as `relay:128`');
/** Handle of a pointer. Pointers of earlier versions have none. */
export const handle = z.string().optional().describe('short name within your tenant, such as `relay:128`');
/** Id of a thread. The schema accepts any string; the domain reports a malformed id as not found. */
export const threadId = z.string().meta({ format: 'uuid' });
export const stateRef = z.string().describe('`v7`');
/** Id of an artifact. */
export const ref = z.string().describe('25 or 26 hex characters');

/** Any JSON value. It comes from a JSON parser, so it needs no validation. */
export const json = z.custom<Json>((value) => value !== undefined);
export const jsonObject: z.ZodType<JsonObject, JsonObject> = z.record(z.string(), json);

/** A boolean in a query: `0` or `1`. */
export const flag = z.enum(['0', '1']).transform((value) => value === '1');

/** A boolean in the query of a route written by hand. These routes have always accepted more than `0` and `1`. */
export const looseFlag = z
  .enum(['0', '1', 'true', 'false', ''])
  .transform((value) => value !== '0' && value !== 'false');

/** A time to live, in seconds. */
export const seconds = (most: number) => z.number().min(1).max(most);

/** A time to live in seconds. The schema documents its bounds; the domain checks them. */
export const documentedSeconds = (most: number) => z.number().meta({ minimum: 1, maximum: most });

/** A whole number in a query. The schema checks its bounds. */
export const queryNumber = (least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).optional();

/** Query parameters that select a part of a text. */
export const partFields = {
  lines: z.string().optional().describe('`10-40`, `10-`, `-20` (the last 20) or `7`'),
  grep: optionalText.describe('a regular expression (RE2 syntax); returns matching lines with their numbers'),
  context: queryNumber(0, GREP_CONTEXT_LINES).describe('lines around each match'),
  ignore_case: looseFlag.optional(),
  json: z.string().optional().describe('a JSON Pointer (RFC 6901) into a JSON payload'),
  outline: looseFlag.optional().describe('headings, definitions or JSON structure, with line numbers'),
  question: optionalText.describe(
    'returns the lines that most likely answer this question, with their numbers',
  ),
};

/** A whole number in a query. The schema documents its bounds; the domain checks them. */
export const limit = (most: number) => z.coerce.number().int().meta({ minimum: 1, maximum: most }).optional();

/** Words that select items of a listing. */
export const searchWords = z.string().max(SEARCH_WORDS_CHARS).optional();

/** Query parameters that select a page of a listing. Query values are text. */
export const page = {
  after: z.string().optional().describe('`next` of the previous page'),
  limit: queryNumber(1, PAGE_ITEMS_MAX),
};

/** Cursor of the next page of a listing. */
export const next = {
  /** Pass it as `after` to get the next page. Absent on the last page. */
  next: optionalText,
};

/** A tenant that only a relay admin may select. */
export const otherTenant = z
  .string()
  .max(63)
  .optional()
  .describe('another tenant; only relay admins may set it');

/** Name of a channel. Its length is counted in code points, not in UTF-16 code units. */
export const channelName = z
  .string()
  .min(1)
  .refine((name) => [...name].length <= CHANNEL_NAME_CHARS, `at most ${CHANNEL_NAME_CHARS} characters`);

export const tokenCount = z.object({
  tokens: count,
  tokenizer: z.string(),
  estimated: z.boolean(),
});

/** The number of tokens of some content or of a part of it. */
export const cost = tokenCount.extend({ bytes: count });

/** On a relay with API keys: name of the agent, as its client states it. Nothing verifies it. */
export const statedAgent = {
  agent: optionalText.describe('with API keys: name of the agent, as its client states it, not verified'),
};
