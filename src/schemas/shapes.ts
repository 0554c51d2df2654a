import { z } from 'zod';
import type { Json, JsonObject } from '../base/json.ts';
import { CHANNEL_NAME_CHARS, GREP_CONTEXT_LINES, PAGE_ITEMS_MAX } from '../base/limits.ts';
import type { VersionRef } from '../contract/threads/answers.ts';

/** Shapes that several verbs share. What is wrong with most values the domain says, in one way for every interface. */

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

/** A part of a text, as a query asks for it. */
export const partFields = {
  lines: z.string().optional().describe('`10-40`, `10-`, `-20` (the last 20) or `7`'),
  grep: z
    .string()
    .optional()
    .describe('a regular expression (RE2 syntax); answers matching lines with their numbers'),
  context: z.coerce
    .number()
    .int()
    .min(0)
    .max(GREP_CONTEXT_LINES)
    .optional()
    .describe('lines around each match'),
  ignore_case: looseFlag.optional(),
  json: z.string().optional().describe('a JSON Pointer (RFC 6901) into a JSON payload'),
  outline: looseFlag.optional().describe('headings, definitions or the shape, with line numbers'),
};

/** A whole number from a query; its bounds are told here and enforced by the domain. */
export const limit = (most: number) => z.coerce.number().int().meta({ minimum: 1, maximum: most }).optional();

/** A page of a listing: from the query, so everything is text. */
export const page = {
  after: z.string().optional().describe('the `next` of the page before'),
  limit: z.coerce.number().int().min(1).max(PAGE_ITEMS_MAX).optional(),
};

/** Text on the wire; a number is taken for it by whoever calls the method. */
export const version = (about: string): z.ZodType<VersionRef, VersionRef> => z.string().describe(about);

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
