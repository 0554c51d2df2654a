import type { z } from 'zod';
import { nearest } from '../base/did-you-mean.ts';

/**
 * Validates an input with its schema. Returns the parsed data, or one sentence that says what is wrong with the
 * input.
 */
export function checkInput<T extends z.ZodObject>(
  schema: T,
  value: unknown,
): { readonly data: z.output<T> } | { readonly wrong: string } {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { data: result.data };
  return { wrong: describeIssue(result.error.issues[0]!, Object.keys(schema.shape)) };
}

type Issue = z.core.$ZodIssue;

function describeIssue(issue: Issue, fields: readonly string[]): string {
  if (issue.code === 'unrecognized_keys') return unknownField(issue, fields);
  const name = issue.path.length > 0 ? named(issue.path) : 'The input';
  if (!LIBRARY.test(issue.message)) return `${name}: ${issue.message}.`;
  return `${name} ${isMissing(issue) ? 'is missing' : problemText(issue)}.`;
}

/** Matches the beginnings of Zod's own messages. Other messages come from our schemas and stay unchanged. */
const LIBRARY = /^(Invalid|Too (big|small))/;

function unknownField(
  { keys, path }: Issue & { code: 'unrecognized_keys' },
  fields: readonly string[],
): string {
  const key = keys[0]!;
  const near = path.length === 0 ? nearest(key, fields) : null;
  return `There is no field ${named([...path, key])}. ${near ? `Did you mean "${near}"?` : `Known fields: ${fields.join(', ')}.`}`;
}

/** Quotes the path of a field, cut at 100 characters, because clients can send names of any length. */
function named(path: readonly PropertyKey[]): string {
  return `"${path.map(String).join('/').slice(0, 100)}"`;
}

/** Returns whether the problem is a missing value. A custom check reports it with the code `custom`. */
function isMissing({ code, input }: Issue): boolean {
  return input === undefined && (code === 'invalid_type' || code === 'invalid_value' || code === 'custom');
}

function problemText(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? 'of another type'}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
      return `must ${amount(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must ${amount(issue.origin, 'at most', issue.maximum)}`;
    case 'invalid_format':
      return `must be ${FORMATS[issue.format] ?? 'in another format'}`;
    case 'custom':
      return 'is not valid';
    default:
      return 'does not have any of the allowed forms';
  }
}

function amount(origin: string, bound: string, limit: number | bigint): string {
  const things: { [origin: string]: string } = { string: 'characters', array: 'entries' };
  return things[origin] ? `have ${bound} ${limit} ${things[origin]}` : `be ${bound} ${limit}`;
}

const KINDS: { readonly [type: string]: string } = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const FORMATS: { readonly [format: string]: string } = {
  uuid: 'a UUID',
  datetime: 'a time such as 2026-11-16T12:00:00Z',
};
