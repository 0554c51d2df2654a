import { createHash } from 'node:crypto';
import type { Wire } from '../http/relay-under-test.ts';
import type { Keys, Names } from './fill-store.ts';
import type { Answer, ServedHome } from './store-home.ts';

/** A request to the fixture. `as` names the API key to send; null sends none. */
export interface Planned {
  readonly about: string;
  readonly as: string | null;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Wire;
  readonly take?: number;
}

export interface RecordedAnswer {
  readonly status: number;
  readonly about?: Wire;
  readonly json?: Wire;
  readonly text?: string;
  /** SHA-256 of a very long answer, recorded instead of the answer. */
  readonly sha256?: string;
}

export interface Asked extends Planned {
  readonly answer: RecordedAnswer;
}

/** The content of a fixture's JSON file, such as `store-v1.json`. */
export interface Fixture {
  /** Time of the requests, in ms since 1970. */
  readonly now: number;
  readonly keys: Keys;
  readonly names: Names;
  readonly asked: readonly Asked[];
}

const READABLE_CHARS = 4000;

export async function recordAnswer(served: ServedHome, keys: Keys, planned: Planned): Promise<Asked> {
  return { ...planned, answer: await answerTo(served, keys, planned) };
}

export async function answerTo(served: ServedHome, keys: Keys, planned: Planned): Promise<RecordedAnswer> {
  const { as, about: _, ...question } = planned;
  return toRecord(await served.ask({ ...question, ...(as === null ? {} : { key: keys[as]! }) }));
}

function toRecord({ status, json, text, bytes, about }: Answer): RecordedAnswer {
  const facts = Object.keys(about).length > 0 ? { about } : {};
  // Record only the code of an error, because its message may change.
  if (status >= 400) return { status, json: { code: json?.code } };
  if (json !== null) {
    const sorted = inOrder(json);
    const serialized = JSON.stringify(sorted);
    return {
      status,
      ...facts,
      ...(serialized.length > READABLE_CHARS ? { sha256: hash(serialized) } : { json: sorted }),
    };
  }
  const readable = text.length <= READABLE_CHARS && !text.includes('\ufffd');
  return { status, ...facts, ...(readable ? { text } : { sha256: hash(bytes) }) };
}

/** Sorts the fields of objects and rounds numbers, because the order and the last digits of ranks may differ. */
function inOrder(value: Wire): Wire {
  if (typeof value === 'number') return Math.round(value * 1000) / 1000;
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, inOrder(each)]));
}

function hash(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
