/**
 * Imports entries of the original Worker's KV namespace. Prints the old key and the new URL of each entry.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readValue, url } from '../../src/app/option-readers.ts';
import { fromBase64 } from '../../src/base/base64.ts';
import { EXIT, isRelayError, RelayError } from '../../src/base/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { decodeUtf8 } from '../../src/base/utf8.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { runScript } from './run-script.ts';

const HELP = `Imports entries from the KV namespace of the original Worker. Prints the old key and the new pointer of each entry.

Usage  npm run import:cloudflare -- EXPORT.json… [options]

  EXPORT.json  output of "wrangler kv bulk get", or input of "wrangler kv bulk put"
  --list FILE  output of "wrangler kv key list"; it has the expiration times, which "bulk get" lacks
  --to URL     address of the relay; default: CONTEXTRELAY_URL, or the relay on this machine

An entry keeps its expiration time; without one it expires in a day. The exit code is 1 if an entry failed or none was imported.

Example
  npm run import:cloudflare -- export.json --list keys.json --to https://contextrelay.example.workers.dev`;

await runScript(HELP, async () => {
  const { values, positionals: files } = parseArgs({
    options: { to: { type: 'string' }, list: { type: 'string' } },
    allowPositionals: true,
  });
  if (files.length === 0) throw new RelayError('bad_usage', { what: 'No file was given' });
  const baseUrl = values.to === undefined ? undefined : readValue('--to', url, values.to);
  const entries = files.flatMap(readEntries);
  const expirations = values.list === undefined ? null : readExpirations(values.list);
  const relay = new ContextRelay({ baseUrl });
  const skipped: { [why: string]: number } = {};
  let [imported, failed] = [0, 0];
  for (const entry of entries) {
    const end = entry.expiration ?? expirations?.get(entry.key);
    const ttl = end === undefined ? undefined : Math.floor(Number(end) - Date.now() / 1000);
    const why = reasonToSkip(entry, ttl);
    if (why !== null) {
      skipped[why] = (skipped[why] ?? 0) + 1;
      continue;
    }
    try {
      const { data, metadata } = extractPayload(entry);
      console.log(`${entry.key}\t${await relay.push(data, { metadata, ttl })}`);
      imported++;
    } catch (error) {
      if (isRelayError(error) && error.exit === EXIT.unreachable) throw error;
      console.error(`${entry.key}: ${(error as Error).message}`);
      failed++;
    }
  }
  const reasons = Object.entries(skipped).map(([why, count]) => `, ${count} ${why}`);
  console.error(`${imported} imported, ${failed} failed${reasons.join('')}`);
  process.exitCode = failed > 0 || imported === 0 ? EXIT.failed : EXIT.ok;
});

interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly base64?: unknown;
  /** Expiry time as Unix time in seconds. */
  readonly expiration?: unknown;
}

/**
 * Reads the entries of an export: an array, as `wrangler kv bulk put` takes it, or an object by key, as `wrangler kv bulk
 * get` prints it.
 */
function readEntries(file: string): Entry[] {
  const read = readJson(file);
  if (isJsonObject(read))
    return Object.entries(read).map(([key, entry]) =>
      isJsonObject(entry) && 'value' in entry ? { ...entry, key, value: entry.value } : { key, value: entry },
    );
  if (!Array.isArray(read)) throw new Error(`${file} is not an export: it is neither a list nor an object`);
  const isEntry = (item: unknown): item is Entry & JsonObject =>
    isJsonObject(item) && typeof item.key === 'string' && 'value' in item;
  const invalid = read.findIndex((item) => !isEntry(item));
  if (invalid === -1) return read;
  if (isJsonObject(read[invalid]) && 'name' in read[invalid])
    throw new Error(`${file} lists keys without values: "wrangler kv bulk get ${file}" prints the values`);
  throw new Error(`${file} is not an export: item ${invalid} of the list has no "key" or no "value"`);
}

/** Reads the expiration of each key from the output of `wrangler kv key list`. */
function readExpirations(file: string): Map<string, unknown> {
  const read = readJson(file);
  if (!Array.isArray(read) || !read.every((item) => typeof item?.name === 'string'))
    throw new Error(`${file} is not the output of "wrangler kv key list"`);
  return new Map(read.map(({ name, expiration }) => [name, expiration]));
}

function readJson(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not JSON: ${(error as Error).message}`);
  }
}

function reasonToSkip({ key, value }: Entry, ttl: number | undefined): string | null {
  if (key.startsWith('keyhash:')) return 'skipped (keys of the managed service)';
  if (value === null) return 'skipped (no value)';
  return ttl !== undefined && ttl < 1 ? 'skipped (expired)' : null;
}

/**
 * Returns the payload of an entry. The original Worker stored `{data, metadata}`, and its older versions
 * stored plain text. The value may also be parsed JSON.
 */
function extractPayload({ value, base64 }: Entry): {
  data: string | Uint8Array;
  metadata?: Record<string, never>;
} {
  let text = typeof value === 'string' ? value : JSON.stringify(value);
  if (base64 === true) {
    const bytes = fromBase64(text);
    if (bytes === null) throw new Error('the value is marked as base64 but is not base64');
    const decoded = decodeUtf8(bytes);
    if (decoded === null) return { data: bytes };
    text = decoded;
  }
  try {
    const { data, metadata } = JSON.parse(text);
    if (typeof data === 'string') return { data, metadata };
  } catch {
    // The value is not JSON, so it is plain text.
  }
  return { data: text };
}
