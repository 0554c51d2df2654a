import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { assertPinnedJson } from './pinned.ts';

/** The agent card, by protocol version and mode. UPDATE_PINS=1 rewrites a2a-card.json; see pinned.ts. */

const PATH = '/.well-known/agent-card.json';
/** Values of the version header. null means no header: some clients of 0.3 do not send it. */
const VERSIONS = ['1.0', '0.3', null] as const;

async function card(url: string, headers: Record<string, string>): Promise<unknown> {
  const response = await fetch(`${url}${PATH}`, { headers });
  const text = await response.text();
  assert.equal(response.headers.get('content-length'), String(Buffer.byteLength(text)));
  const { host, hostname, port } = new URL(url);
  const placed = (from: string) =>
    from
      .replaceAll(url, '{url}')
      .replaceAll(host, '{host}')
      .replaceAll(hostname, '{hostname}')
      .replaceAll(`:${port}`, ':{port}');
  return {
    status: response.status,
    headers: Object.fromEntries(
      [...response.headers].map(([name, value]) => [name, VARYING[name] ?? placed(value)]),
    ),
    body: JSON.parse(placed(text), (key, value) =>
      // Replace the version of the relay under test.
      key === 'version' && value === 'test' ? '{version}' : value,
    ),
  };
}

/** Fields that depend on the time or on the port. */
const VARYING: { readonly [header: string]: string } = {
  date: '{date}',
  'last-modified': '{date}',
  'content-length': '{bytes}',
  etag: '{etag}',
};

test('the agent card stays the same for every protocol version, with and without keys', async () => {
  await using open = await startRelay();
  await using guarded = await startGuarded();
  const { key } = await guarded.key();
  const cards: Record<string, unknown> = {};
  for (const version of VERSIONS) {
    const headers: Record<string, string> = version ? { 'A2A-Version': version } : {};
    const name = version ?? 'none';
    cards[`open, A2A-Version ${name}`] = await card(open.url, headers);
    cards[`keys, A2A-Version ${name}, without a key`] = await card(guarded.url, headers);
    cards[`keys, A2A-Version ${name}, with a key`] = await card(guarded.url, {
      ...headers,
      Authorization: `Bearer ${key}`,
    });
  }
  assertPinnedJson('a2a-card.json', cards);
});
