import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Env } from '../../src/base/env.ts';
import type { CreatedKey } from '../../src/contract/keys.ts';
import type { CoreOptions } from '../../src/domain/relay-core.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import type { GuardedRelay } from './guarded-relay.ts';

const homes: string[] = [];
after(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

export function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'relay-storage-'));
  homes.push(home);
  return home;
}

export const HOUR = 60 * 60 * 1000;
export const ROOM = 40_000;

/** Returns core options with a plan that allows this many bytes of storage. */
export function plan(storageBytes = ROOM): CoreOptions {
  const small = { pushes: null, pulls: null, keys: 9, payloadBytes: 100_000, ttlMs: HOUR, storageBytes };
  return { plans: { small }, defaultPlan: 'small' };
}

export function sqlite(): (env: Env) => ReturnType<typeof openSqlite> {
  const home = newHome();
  return (env) => openSqlite({ home, env, durability: 'process', role: 'server' });
}

export async function usedOf(relay: GuardedRelay, key: CreatedKey): Promise<number> {
  return (await relay.ask('GET', '/usage', { key })).json.storage.used;
}

/** Returns the bytes in these threads and channels, by reading all their data. */
export async function heldBy(
  { logs, records }: Engine,
  threads: string[],
  channels: string[],
): Promise<number> {
  let sum = 0;
  for (const stream of [
    ...threads.map((id) => `thr.acme.${id}`),
    ...channels.map((name) => `chn.acme.${name}`),
  ]) {
    const { entries } = await logs.read(stream, { limit: 1000 });
    for (const { data } of entries) {
      // Skip the placeholder of an unused channel, which is not a message.
      if (!Object.hasOwn(data as object, 'gone')) sum += Buffer.byteLength(JSON.stringify(data));
    }
  }
  for (const id of threads) {
    const { items } = await records.list(`thr.acme.${id}/artifacts/`);
    for (const { value } of items) {
      const { size, deleted_at } = value as { size: number; deleted_at?: string };
      if (deleted_at === undefined) sum += size + Math.min(size, 2048);
    }
  }
  return sum;
}

export async function newThread(relay: GuardedRelay, key: CreatedKey, o: object = {}): Promise<string> {
  const { status, json, text } = await relay.ask('POST', '/threads', { key, body: { name: 't', ...o } });
  assert.equal(status, 201, text);
  return json.thread_id;
}

export const FACT = { op: 'add', path: '/facts/-', value: { id: 'f', key: 'k', value: 'v' } };

export const putArtifact = (relay: GuardedRelay, key: CreatedKey, id: string, size: number) =>
  relay.ask('POST', `/threads/${id}/artifacts`, {
    key,
    body: { name: 'a.txt', type: 'text', content: 'x'.repeat(size) },
  });
