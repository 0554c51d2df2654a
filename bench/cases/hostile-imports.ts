import assert from 'node:assert/strict';
import { loadConfig } from '../../src/app/config.ts';
import { openCore } from '../../src/app/store/open-core.ts';
import { readBytes } from '../../src/base/byte-streams.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { Bench } from '../bench.ts';
import { benchFolder, startRelayOn } from '../servers.ts';
import { openThreadStore, threadOfFacts } from '../thread-store.ts';
import { BUDGET_MS, healthDuring } from '../under-attack.ts';

const ATTACKERS = 8;
/** Number of times that each client imports the bundle and deletes the thread. */
const TIMES = 5;
const FACTS = 4_000;

/** Latency of `/health` while clients import a foreign thread. The ratio is this latency divided by its budget. */
export default {
  name: 'hostile-imports',
  claim: 'less than 250 ms',
  limit: 1,
  async run() {
    const { id, bundle } = await madeBundle();
    const home = benchFolder();
    const [victim, attacker] = await keysOf(home, ['acme', 'evil']);
    await using relay = await startRelayOn(home, { RELAY_AUTH: 'keys' });
    const ask = (key: string, path: string, method = 'GET', body?: Uint8Array<ArrayBuffer>) =>
      fetch(`${relay.url}/threads${path}`, { method, body, headers: { Authorization: `Bearer ${key}` } });
    const whole = async () => {
      const [replay, state] = [
        await ask(victim!, `/${id}/replay`, 'POST'),
        await ask(victim!, `/${id}/state`),
      ];
      return [await replay.json(), await state.text()];
    };
    const response = await ask(victim!, '/import', 'POST', bundle);
    assert.equal(response.status, 201, await response.text());
    const before = await whole();
    const attack = async () => {
      for (let i = 0; i < TIMES; i++) {
        await (await ask(attacker!, '/import', 'POST', bundle)).text();
        await (await ask(attacker!, `/${id}`, 'DELETE')).text();
      }
    };
    const attacks = Promise.all(Array.from({ length: ATTACKERS }, attack));
    const measured = await healthDuring(relay.url, attacks);
    assert.deepEqual(await whole(), before, 'the thread of the other tenant was changed');
    const detail = `p99 of /health while ${ATTACKERS} requests at once import and delete a thread that another tenant has; budget: ${BUDGET_MS} ms`;
    return { measured, baseline: BUDGET_MS, unit: 'ms', ratio: measured / BUDGET_MS, detail };
  },
} satisfies Bench;

async function madeBundle(): Promise<{ id: string; bundle: Uint8Array<ArrayBuffer> }> {
  await using store = await openThreadStore();
  const id = await threadOfFacts(store.threads, FACTS);
  const { body } = await store.threads.export(id);
  return { id, bundle: new Uint8Array(await readBytes(body)) };
}

async function keysOf(home: string, tenants: readonly string[]): Promise<string[]> {
  await using opened = await openCore(loadConfig({ RELAY_HOME: home }), 'cli');
  const { keys } = opened.core.relay(LOCAL_CALLER, '');
  const apiKeys = [];
  for (const tenant of tenants)
    apiKeys.push((await keys.create({ name: tenant, tenant, plan: 'unlimited', scopes: ['threads'] })).key);
  return apiKeys;
}
