/** Just enough to run without `node:assert`, so that the cases also run where there is no Node. */

import type { ErrorCode } from '../../src/base/errors.ts';
import { isRelayError } from '../../src/base/errors.ts';

export function ok(value: unknown, message: string): asserts value {
  if (!value) throw new Error(message);
}

/** Compares as JSON, so the order of an object's keys counts, and `undefined` is as good as absent. */
export function same(actual: unknown, expected: unknown, message = 'not the same'): void {
  const a = show(actual);
  const b = show(expected);
  if (a !== b) throw new Error(`${message}: got ${brief(a)}, expected ${brief(b)}`);
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

/** Rejects with whatever the caller's own stream failed with. */
export async function fails(work: Promise<unknown>): Promise<void> {
  let result: unknown;
  try {
    result = await work;
  } catch {
    return;
  }
  throw new Error(`should have failed, gave ${brief(show(result))}`);
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? 'undefined';
}

function brief(text: string): string {
  return text.length <= 400 ? text : `${text.slice(0, 400)}… (${text.length} characters)`;
}
