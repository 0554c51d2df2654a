/** Minimal assertions without `node:assert`, so that the cases also run outside of Node. */

import { type ErrorCode, isRelayError } from '../../src/base/errors.ts';

export function ok(value: unknown, message: string): asserts value {
  if (!value) throw new Error(message);
}

/** Compares as JSON: `undefined` equals absent, and the order of keys does not matter. */
export function same(actual: unknown, expected: unknown, message = 'not the same'): void {
  equal(show(actual), show(expected), message);
}

/** Compares as JSON text: the order of keys matters too. */
export function sameText(actual: unknown, expected: unknown, message = 'not the same'): void {
  equal(String(JSON.stringify(actual)), String(JSON.stringify(expected)), message);
}

export async function refuses(work: Promise<unknown>, ...codes: ErrorCode[]): Promise<void> {
  let result: unknown;
  try {
    result = await work;
  } catch (error) {
    if (codes.some((code) => isRelayError(error, code))) return;
    throw new Error(`refused with the wrong error, expected ${codes.join(' or ')}: ${error}`, {
      cause: error,
    });
  }
  throw new Error(`not refused, expected ${codes.join(' or ')}: gave ${brief(show(result))}`);
}

/** Expects a rejection with any error, because the error comes from the caller's stream. */
export async function fails(work: Promise<unknown>): Promise<void> {
  let result: unknown;
  try {
    result = await work;
  } catch {
    return;
  }
  throw new Error(`should have failed, gave ${brief(show(result))}`);
}

function equal(a: string, b: string, message: string): void {
  if (a !== b) throw new Error(`${message}: got ${brief(a)}, expected ${brief(b)}`);
}

function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(show).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members
    .map(([key, member]) => `${JSON.stringify(key)}:${show(member)}`)
    .sort()
    .join(',')}}`;
}

function brief(text: string): string {
  return text.length <= 400 ? text : `${text.slice(0, 400)}… (${text.length} characters)`;
}
