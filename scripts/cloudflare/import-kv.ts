/** Pushes what the original Worker kept in its KV namespace, and prints for each entry its old id and its new URL. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readFlag, url } from '../../src/app/option-readers.ts';
import { fromBase64 } from '../../src/base/base64.ts';
import { EXIT, isRelayError, RelayError } from '../../src/base/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { decodeUtf8 } from '../../src/base/utf8.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { runScript } from './run-script.ts';

const HELP = `Pushes what the original Worker kept in its KV namespace, and prints for each entry its key and its new pointer.

Usage  node scripts/cloudflare/import-kv.ts EXPORT.json… [options]

  EXPORT.json  what "wrangler kv bulk get" printed, or what "wrangler kv bulk put" takes
  --list FILE  what "wrangler kv key list" printed: when entries expire, which "bulk get" does not say
  --to URL     the relay; CONTEXTRELAY_URL, or the one on this machine, by default

An entry expires when it would have, or in a day where nothing says when. It ends with 1 where an entry failed or none was moved.

Example
  node scripts/cloudflare/import-kv.ts export.json --list keys.json --to https://contextrelay.example.workers.dev`;

await runScript(HELP, async () => {
  const { values, positionals: files } = parseArgs({
    options: { to: { type: 'string' }, list: { type: 'string' } },
    allowPositionals: true,
  });
  if (files.length === 0) throw new RelayError('bad_usage', { what: 'No file was named' });
  const baseUrl = values.to === undefined ? undefined : readFlag('--to', url, values.to);
  const entries = files.flatMap(entriesIn);
  const ends = values.list === undefined ? null : endsIn(values.list);
  const relay = new ContextRelay({ baseUrl });
  const skipped: { [why: string]: number } = {};
  let [moved, failed] = [0, 0];
  for (const entry of entries) {
    const end = entry.expiration ?? ends?.get(entry.key);
    const ttl = end === undefined ? undefined : Math.floor(Number(end) - Date.now() / 1000);
    const why = reasonToSkip(entry, ttl);
    if (why !== null) {
      skipped[why] = (skipped[why] ?? 0) + 1;
      continue;
    }
    try {
      const { data, metadata } = payloadOf(entry);
      console.log(`${entry.key}\t${await relay.push(data, { metadata, ttl })}`);
      moved++;
    } catch (error) {
      if (isRelayError(error) && error.exit === EXIT.unreachable) throw error;
      console.error(`${entry.key}: ${(error as Error).message}`);
      failed++;
    }
  }
  const reasons = Object.entries(skipped).map(([why, count]) => `, ${count} ${why}`);
  console.error(`${moved} moved, ${failed} not${reasons.join('')}`);
  process.exitCode = failed > 0 || moved === 0 ? EXIT.failed : EXIT.ok;
});

interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly base64?: unknown;
  /** In seconds since 1970. */
  readonly expiration?: unknown;
}

/** An array of entries is what `wrangler kv bulk put` takes, an object by their keys what `wrangler kv bulk get` prints. */
function entriesIn(file: string): Entry[] {
  const read = jsonIn(file);
  if (isJsonObject(read))
    return Object.entries(read).map(([key, entry]) =>
      isJsonObject(entry) && 'value' in entry ? { ...entry, key, value: entry.value } : { key, value: entry },
    );
  if (!Array.isArray(read)) throw new Error(`${file} is no export: it is neither a list nor an object`);
  const isEntry = (item: unknown): item is Entry & JsonObject =>
    isJsonObject(item) && typeof item.key === 'string' && 'value' in item;
  const odd = read.findIndex((item) => !isEntry(item));
  if (odd === -1) return read;
  if (isJsonObject(read[odd]) && 'name' in read[odd])
    throw new Error(`${file} lists keys without values: "wrangler kv bulk get ${file}" prints these`);
  throw new Error(`${file} is no export: item ${odd} of its list has no "key" and "value"`);
}

/** When each key expires, as `wrangler kv key list` says. */
function endsIn(file: string): Map<string, unknown> {
  const read = jsonIn(file);
  if (!Array.isArray(read) || !read.every((item) => typeof item?.name === 'string'))
    throw new Error(`${file} is not what "wrangler kv key list" prints`);
  return new Map(read.map(({ name, expiration }) => [name, expiration]));
}

function jsonIn(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not JSON: ${(error as Error).message}`);
  }
}

function reasonToSkip({ key, value }: Entry, ttl: number | undefined): string | null {
  if (key.startsWith('keyhash:')) return 'left out as keys of the managed service';
  if (value === null) return 'without a value';
  return ttl !== undefined && ttl < 1 ? 'expired' : null;
}

/** The original kept `{data, metadata}`, and before that the bare text. A value that is JSON may have been read already. */
function payloadOf({ value, base64 }: Entry): {
  data: string | Uint8Array;
  metadata?: Record<string, never>;
} {
  let text = typeof value === 'string' ? value : JSON.stringify(value);
  if (base64 === true) {
    const bytes = fromBase64(text);
    if (bytes === null) throw new Error('its value is not base64, as it says');
    const decoded = decodeUtf8(bytes);
    if (decoded === null) return { data: bytes };
    text = decoded;
  }
  try {
    const { data, metadata } = JSON.parse(text);
    if (typeof data === 'string') return { data, metadata };
  } catch {
    // Bare text.
  }
  return { data: text };
}
