import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LOCAL_CALLER, SCOPES } from '../../src/contract/caller.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { Fuzzer, type FuzzRequest } from './fuzzer.ts';

const REQUESTS = 10_000;
const SEEDS = [1, 20261115, 4242];
const AT_ONCE = 8;
/** Much longer than any request takes, so that only a stall exceeds it. */
const PATIENCE_MS = 60_000;

test('10 000 generated requests cause no internal error and no stall', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-fuzz-'));
  await using relay = await startGuarded({
    open: (env) => openSqlite({ home: folder, env, durability: 'process', role: 'server' }),
  });
  let key = (await relay.core.keys.createFirst())!;
  const document = (await relay.ask('GET', '/openapi.json')).json;
  const pushed = (await relay.ask('POST', '/push', { key, body: { data: '{"a":{"b":1}}', channel: 'work' } }))
    .json.id;
  const thread = (await relay.ask('POST', '/threads', { key, body: { name: 'x' } })).json.thread_id;
  const statuses = new Map<number, number>();
  const reached = new Map<string, Set<number>>();
  const send = async (fuzzer: Fuzzer, request: FuzzRequest) => {
    const stalled = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(relay.url + request.path, {
      method: request.method,
      headers: { ...request.headers, Authorization: `Bearer ${key.key}` },
      ...(request.body === undefined || request.method === 'GET' ? {} : { body: request.body }),
      signal: stalled,
    });
    const streamed = /event-stream/.test(response.headers.get('content-type') ?? '');
    const text = streamed ? '' : await response.text();
    if (streamed) await response.body!.cancel();
    const note = `${JSON.stringify(request).slice(0, 3000)} → ${response.status} ${text.slice(0, 500)} ${JSON.stringify(relay.log.at(-1))}`;
    assert.ok(response.status < 500, note);
    if (response.status >= 400) assert.match(text, request.method === 'HEAD' ? /^/ : /"code":"\w+"/, note);
    // The fuzzer may find the id of its own key and revoke or rotate this key. That is not an error, so create a new
    // key.
    if (response.status === 401) {
      key = await relay.core.keys.create(LOCAL_CALLER, { name: 'fuzz', scopes: SCOPES });
      return;
    }
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    reached.set(request.operation, (reached.get(request.operation) ?? new Set()).add(response.status));
    for (const id of text.match(/"(?:id|thread_id|ref)":"([^"]{8,40})"/)?.slice(1) ?? []) fuzzer.learn(id);
  };
  for (const seed of SEEDS) {
    const pool = [pushed, thread, 'work', 'g', 'v1'];
    const fuzzer = new Fuzzer(document, seed, pool);
    let left = Math.ceil(REQUESTS / SEEDS.length);
    const client = async () => {
      while (left-- > 0) await send(fuzzer, fuzzer.next());
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    assert.equal((await relay.ask('GET', '/health')).status, 200);
  }
  const fine = [...reached].filter(([, statusSet]) => [...statusSet].some((status) => status < 300));
  // At least half of the operations must have succeeded once. Otherwise the test would prove little.
  assert.ok(
    fine.length > reached.size / 2,
    `${fine.length} of ${reached.size} operations were ever answered`,
  );
  assert.ok((statuses.get(200) ?? 0) > REQUESTS / 20, JSON.stringify([...statuses]));
  rmSync(folder, { recursive: true, force: true });
});
