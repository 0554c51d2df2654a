/** Pushes what the original Worker kept in its KV namespace, and prints for each entry its old id and its new URL. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ContextRelay } from '../../src/sdk/context-relay.ts';

const { values, positionals } = parseArgs({ options: { to: { type: 'string' } }, allowPositionals: true });
const [file] = positionals;
if (!file) {
  console.error('usage: node scripts/cloudflare/import-kv.ts EXPORT.json [--to URL]');
  process.exit(2);
}
const relay = new ContextRelay({ baseUrl: values.to });
let [moved, failed] = [0, 0];
for (const { key, value } of entriesIn(readFileSync(file, 'utf8'))) {
  try {
    const { data, metadata } = payloadOf(value);
    console.log(`${key}\t${await relay.push(data, { metadata })}`);
    moved++;
  } catch (error) {
    console.error(`${key}: ${(error as Error).message}`);
    failed++;
  }
}
console.error(`${moved} moved, ${failed} not`);
process.exitCode = failed > 0 ? 1 : 0;

/** Both what `wrangler kv bulk get` prints and what `wrangler kv bulk put` takes. */
function entriesIn(text: string): { key: string; value: string }[] {
  const read: unknown = JSON.parse(text);
  const entries = Array.isArray(read)
    ? read
    : Object.entries(read as object).map(([key, entry]) => ({ key, value: entry?.value ?? entry }));
  return entries.filter(({ key, value }) => typeof value === 'string' && !String(key).startsWith('keyhash:'));
}

/** The original kept `{data, metadata}`, and before that the bare text. */
function payloadOf(value: string): { data: string; metadata?: Record<string, never> } {
  try {
    const { data, metadata } = JSON.parse(value);
    if (typeof data === 'string') return { data, metadata };
  } catch {
    // Bare text.
  }
  return { data: value };
}
