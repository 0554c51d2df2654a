import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { openMemory } from '../../src/engines/memory/engine.ts';
import { type RelayOptions, startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { type Answer, meaningOf, type Pinned, prepare, send } from './exchange.ts';
import { difference, entriesOf, formatAnswer, formatRequest } from './transcript-text.ts';

export interface Transcript {
  readonly name: string;
  readonly requests: readonly Pinned[];
  readonly core?: RelayOptions['core'];
  /** If set, the relay requires keys. `{{admin.key}}` is its first key. */
  readonly keys?: RelayOptions;
}

const FOLDER = join(import.meta.dirname, 'transcripts');
const START = Date.UTC(2026, 0, 15, 12);
/** Plays a transcript, optionally under `/v1`, and fails if an answer differs from the file. */
export async function checkTranscript(transcript: Transcript, under: '' | '/v1' = ''): Promise<void> {
  const path = join(FOLDER, `${transcript.name}.txt`);
  const played = await play(transcript, under);
  if (process.env.UPDATE_PINS === '1' && under === '') writeFileSync(path, played.join('\n'));
  const pinnedEntries = existsSync(path) ? entriesOf(readFileSync(path, 'utf8')).map(comparable) : [];
  const answers = entriesOf(played.join('\n')).map(comparable);
  const wrong = answers.flatMap((entry, i) =>
    entry === pinnedEntries[i] ? [] : [difference(pinnedEntries[i], entry)],
  );
  const missing = pinnedEntries.slice(answers.length).map((entry) => difference(entry, undefined));
  const differences = [...wrong, ...missing];
  if (differences.length === 0) return;
  assert.fail(
    `${differences.length} of ${answers.length} answers of ${transcript.name}${under && ` under ${under}`} are not as they were (- was, + is):\n\n${differences.slice(0, 5).join('\n\n')}`,
  );
}

/** Masks the last byte of ids on a Worker: the Worker derives this byte from the location of the channel. */
function comparable(entry: string): string {
  if (process.env.RELAY_TEST_ENGINE !== 'cloudflare') return entry;
  return entry.replace(/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{10})[0-9a-f]{2}/g, '$1..');
}

/** Returns the recorded requests as method, path and status. */
export function pinnedCalls(name: string): { method: string; path: string; status: number }[] {
  return entriesOf(readFileSync(join(FOLDER, `${name}.txt`), 'utf8')).map((entry) => {
    const [, method, path] = /^> (\S+) ([^\s?]+)/m.exec(entry)!;
    return { method: method!, path: path!, status: Number(/^< (\d+)/m.exec(entry)![1]) };
  });
}

async function play({ requests, core, keys }: Transcript, under: string): Promise<string[]> {
  let [callName, turn] = ['the first key', 0];
  const drawn = new Map<string, number>();
  const env = {
    now: () => START + turn * 1000,
    // Derive random bytes from the request and the length, so that an additional draw does not change other values.
    randomBytes: (length: number) => {
      const count = (drawn.get(`${callName}/${length}`) ?? 0) + 1;
      drawn.set(`${callName}/${length}`, count);
      return chance(`${callName}/${length}/${count}`, length);
    },
  };
  const open = process.env.RELAY_TEST_ENGINE ? undefined : () => openMemory({ env, gaps: false });
  const guarded = keys ? await startGuarded({ ...keys, env, open }) : null;
  await using relay = guarded ?? (await startRelay({ env, open, core }));
  const values = new Map<string, unknown>();
  if (guarded) {
    const scopes = ['push', 'pull', 'subscribe', 'threads', 'files', 'tasks', 'admin'] as const;
    values.set('admin', await guarded.key({ name: 'admin', tenant: 'local', scopes }));
  }
  const bodies = new Map<string, Buffer>();
  const agent = new Agent({ keepAlive: true });
  const streams: IncomingMessage[] = [];
  const entries: string[] = [];
  const deadline = Date.now() + 20_000;
  try {
    for (const pinned of requests) {
      [callName, turn] = [pinned.name, turn + 1];
      const fill = (text: string) => filled(text, values);
      const ready = prepare(pinned, fill, bodies);
      if (pinned.alone) for (const stream of streams) stream.destroy();
      let answer: Answer;
      do answer = await send(relay.url, pinned.fixed ? '' : under, ready, agent);
      while (pinned.alone && answer.status !== pinned.alone && Date.now() < deadline);
      // Flush write-behind data now, so that the data gets the time of this request.
      await relay.settle();
      if (pinned.events !== undefined) streams.push(answer.stream);
      if (pinned.as) {
        bodies.set(pinned.as, answer.body);
        values.set(pinned.as, meaningOf(answer.body.toString()));
      }
      entries.push(`=== ${pinned.name}\n${formatRequest(ready)}\n${formatAnswer(answer, pinned.pin)}\n`);
    }
  } finally {
    for (const stream of streams) stream.destroy();
    agent.destroy();
  }
  assert.deepEqual(relay.log, [], 'the server has nothing to complain about');
  return entries;
}

function chance(seed: string, length: number): Uint8Array<ArrayBuffer> {
  const blocks = Array.from({ length: Math.ceil(length / 32) }, (_, i) =>
    createHash('sha256').update(`${seed}/${i}`).digest(),
  );
  return new Uint8Array(Buffer.concat(blocks).subarray(0, length));
}

function filled(text: string, values: ReadonlyMap<string, unknown>): string {
  return text.replace(/\{\{([\w-]+)\.([\w.]+)\}\}/g, (all, as: string, path: string) => {
    let value = values.get(as);
    for (const step of path.split('.')) value = (value as { [key: string]: unknown } | undefined)?.[step];
    assert.ok(value !== undefined, `${all} is not known`);
    return String(value);
  });
}
