import { RelayError } from '../base/errors.ts';
import { KEYS_MAX, MAX_TTL_MS, PAYLOAD_BYTES } from '../base/limits.ts';
import type { Prices } from '../client/pipelines/budget.ts';
import type { PlanTable } from '../domain/usage/plans.ts';
import { addressProblem } from '../engines/s3/address.ts';

/** Parses the value of an option or of a flag. The error for an invalid value says where it is set. */
export function readValue<T>(where: string, read: (value: unknown) => T, value: unknown): T {
  try {
    return read(value);
  } catch (error) {
    throw new RelayError('bad_config', { where, what: (error as Error).message });
  }
}

/**
 * Reads an option that is a text. Like every reader in this file, it returns the parsed value or throws an
 * error that says which values are valid.
 */
export function text(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`it must be a string, not ${JSON.stringify(value)}.`);
}

export function portNumber(value: unknown): number {
  const number = wholeNumber(value);
  if (number !== null && number <= 65_535) return number;
  throw new Error(`it must be a number from 0 to 65535, not ${JSON.stringify(value)}.`);
}

export function url(value: unknown): string {
  const parsed = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new Error(`it must be an http:// or https:// address, not ${JSON.stringify(value)}.`);
  }
  if (parsed.search || parsed.hash || parsed.username) {
    throw new Error('it must be an address without ?, # or a user name.');
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, '');
}

export function bucketAddress(value: unknown): string {
  const problem = typeof value === 'string' ? addressProblem(value) : 'it must be a string.';
  if (problem !== null) throw new Error(problem);
  return value as string;
}

/** Returns the address with user and password masked: `nats://***@a:4222`. */
export function maskPassword(address: string): string {
  return address.replace(/\/\/[^@/]*@/, '//***@');
}

/** Returns the address with its path masked: the path of a webhook is often a secret. */
export function maskPath(address: string): string {
  const { origin, pathname } = new URL(address);
  return pathname === '/' ? origin : `${origin}/***`;
}

export function oneOf<const T extends string>(...wordList: T[]): (value: unknown) => T {
  return (value) => {
    if (wordList.includes(value as T)) return value as T;
    throw new Error(
      `it must be ${wordList.map((word) => `"${word}"`).join(' or ')}, not ${JSON.stringify(value)}.`,
    );
  };
}

/** Returns a reader for an object whose keys are some of `names` and whose values are texts. */
export function byName(names: readonly string[]): (value: unknown) => { readonly [name: string]: string } {
  return (value) => {
    const entries = value !== null && typeof value === 'object' ? Object.entries(value) : null;
    if (
      !Array.isArray(value) &&
      entries?.every(([name, word]) => names.includes(name) && word === text(word))
    )
      return value as { [name: string]: string };
    throw new Error(`it must be an object with string values; its keys can be ${names.join(', ')}.`);
  };
}

export function list(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')) return value;
  throw new Error(`it must be a list of strings, not ${JSON.stringify(value)}.`);
}

/** Reads a list of texts. A single text, such as the value of an environment variable, is split at commas. */
export function wordList(value: unknown): readonly string[] {
  const items = typeof value === 'string' ? value.split(',').map((word) => word.trim()) : value;
  return list(items);
}

export function yesOrNo(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  if (value === '1' || value === 'true') return true;
  if (value === '0' || value === 'false') return false;
  throw new Error(`it must be true or false, not ${JSON.stringify(value)}.`);
}

/** Reads a list of origins such as `https://app.example`, or `*` for every origin. */
export function origins(value: unknown): readonly string[] {
  return wordList(value).map((word) => {
    if (word === '*') return word;
    if (URL.canParse(word) && /^https?:$/.test(new URL(word).protocol) && new URL(word).origin === word)
      return word;
    throw new Error(
      `it must be a list of origins such as "https://app.example", or "*"; this is not an origin: ${JSON.stringify(word)}.`,
    );
  });
}

export function atLeast(least: number): (value: unknown) => number {
  return (value) => {
    const number = wholeNumber(value);
    if (number !== null && number >= least) return number;
    throw new Error(`it must be a whole number from ${least} up, not ${JSON.stringify(value)}.`);
  };
}

/** Parses a whole number of at least 0, also from a text of digits. Returns null for any other value. */
function wholeNumber(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : null;
}

const PLAN_FIELDS = ['pushes', 'pulls', 'keys', 'payload_bytes', 'ttl_seconds', 'storage_bytes'];

/** Reads the plans. A plan that omits a limit gets only the limit of the relay itself. */
export function plans(value: unknown): PlanTable {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('it must be an object with plan names as keys and plans as values.');
  }
  const table: { [name: string]: PlanTable[string] } = {};
  for (const [name, fields] of Object.entries(value)) {
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
      throw new Error(
        `${JSON.stringify(name)} is not a valid name for a plan: use at most 64 of a-z, 0-9, _ and -.`,
      );
    table[name] = plan(name, fields);
  }
  return table;
}

function plan(name: string, fields: unknown): PlanTable[string] {
  if (typeof fields !== 'object' || fields === null) throw new Error(`the plan "${name}" must be an object.`);
  const unknown = Object.keys(fields).find((field) => !PLAN_FIELDS.includes(field));
  if (unknown)
    throw new Error(
      `the plan "${name}" has an unknown field "${unknown}"; the fields are ${PLAN_FIELDS.join(', ')}.`,
    );
  const values = fields as { readonly [field: string]: unknown };
  const number = (field: string, most: number): number | null => {
    const amount = values[field];
    if (amount === undefined || amount === null) return null;
    if (typeof amount === 'number' && Number.isSafeInteger(amount) && amount >= 0 && amount <= most)
      return amount;
    throw new Error(`"${field}" of the plan "${name}" must be a whole number from 0 to ${most}, or null.`);
  };
  return {
    pushes: number('pushes', Number.MAX_SAFE_INTEGER),
    pulls: number('pulls', Number.MAX_SAFE_INTEGER),
    keys: number('keys', KEYS_MAX) ?? KEYS_MAX,
    payloadBytes: number('payload_bytes', PAYLOAD_BYTES) ?? PAYLOAD_BYTES,
    ttlMs: (number('ttl_seconds', MAX_TTL_MS / 1000) ?? MAX_TTL_MS / 1000) * 1000,
    storageBytes: number('storage_bytes', Number.MAX_SAFE_INTEGER),
  };
}

/** Reads the prices of models: an object with a date, a currency and the prices by model. */
export function prices(value: unknown): Prices {
  const wrong = new Error(
    'it must be an object such as {"date": "2026-11-01", "currency": "USD", "models": {"NAME": {"input": 3, "output": 15}}}.',
  );
  const isPrice = (price: unknown) => typeof price === 'number' && price >= 0;
  if (value === null || typeof value !== 'object') throw wrong;
  const { date, currency, models = {} } = value as { [key: string]: unknown };
  if (date !== undefined && !(typeof date === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(date))) throw wrong;
  if (currency !== undefined && typeof currency !== 'string') throw wrong;
  if (models === null || typeof models !== 'object') throw wrong;
  for (const price of Object.values(models) as { [key: string]: unknown }[])
    if (!isPrice(price?.input) || !isPrice(price.output) || !isPrice(price.cached_input ?? 0)) throw wrong;
  return { ...(value as object), models } as Prices;
}
