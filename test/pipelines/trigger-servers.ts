import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../src/base/hash.ts';
import { cleanEnv, ENTRY, NODE, relay } from '../cli/program.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { until } from '../until.ts';
import { seededRandom } from './long-run.ts';

const YAML = `name: watcher
agents: { sh: { shell: true } }
triggers:
  - { channel: builds, filter: { kind: failed } }
  - { schedule: "* * * * *", missed: all }
steps:
  - { id: note, agent: sh, prompt: 'sleep 0.1; echo "{{ trigger.seq }} {{ trigger.at }}"' }
  - { id: end, agent: sh, needs: [note], prompt: echo end }
`;

interface Listed {
  readonly run: string;
  readonly status: string;
  readonly trigger?: { readonly seq?: number; readonly at: string; readonly schedule?: string };
}

/** Kills two servers of one pipeline at random. Asserts that each message and each scheduled time started one run. */
export async function killTriggerServers(
  home: string,
  o: { seed: number; kills: number; messages: number; minutes: number },
): Promise<void> {
  writeFileSync(join(home, 'watcher.yaml'), YAML);
  await using server = await startRelay();
  const env = { CONTEXTRELAY_URL: server.url };
  const relayOf = server.core.relay(
    { tenant: 'local', keyId: 'local', name: 'pipeline', scopes: ['threads', 'push', 'subscribe'] },
    server.url,
  );
  // Record that a server watched the schedule until some minutes ago, so that missed times are due.
  const idempotency_key = `hold:${await sha256Hex('serve watcher')}`;
  const { thread_id } = await relayOf.threads.create({ name: 'serve watcher', idempotency_key });
  const since = new Date(Math.floor(Date.now() / 60_000) * 60_000 - o.minutes * 60_000).toISOString();
  const value = { id: 'since', key: '* * * * * UTC', value: since };
  await relayOf.threads.patch(thread_id, { ops: [{ op: 'add', path: '/facts/-', value }] });
  const roll = seededRandom(o.seed);
  const start = (): ChildProcess =>
    spawn(NODE, [ENTRY, 'pipeline', 'serve', 'watcher.yaml'], {
      env: cleanEnv({ home, env }),
      cwd: home,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  const servers = [start(), start()];
  // A group gets only messages that come after its first member. So wait for the member before publishing.
  const { channels } = relayOf;
  await channels.publish('builds', { kind: 'warm-up' });
  await until(async () => (await channels.inspect('builds')).groups.length > 0);
  const seqs: number[] = [];
  const list = async (): Promise<Listed[]> => {
    const { stdout } = await relay(['pipeline', 'list', 'watcher', '--limit', '1000', '--json'], {
      home,
      env,
    });
    return JSON.parse(stdout).runs;
  };
  try {
    for (let kill = 0; kill < o.kills; kill++) {
      for (let n = 0; n < Math.ceil(o.messages / o.kills); n++) {
        seqs.push((await channels.publish('builds', { kind: 'failed', n })).seq);
        await channels.publish('builds', { kind: 'passed' });
      }
      await new Promise((resolve) => setTimeout(resolve, 500 + roll() * 2_500));
      const at = Math.floor(roll() * servers.length);
      servers[at]!.kill('SIGKILL');
      await new Promise((resolve) => servers[at]!.once('close', resolve));
      servers[at] = start();
    }
    const isWhole = (runs: readonly Listed[]) =>
      runs.every(({ status }) => status === 'done') &&
      runs.filter(({ trigger }) => trigger?.seq !== undefined).length >= seqs.length &&
      runs.filter(({ trigger }) => trigger?.schedule).length >= o.minutes;
    let runs: Listed[] = [];
    const look = async () => {
      runs = await list();
      return isWhole(runs);
    };
    await until(look, { everyMs: 500, timeoutMs: 240_000 });
    const bySeq = runs.flatMap(({ trigger }) => (trigger?.seq === undefined ? [] : [trigger.seq]));
    assert.deepEqual(
      bySeq.sort((a, b) => a - b),
      seqs,
      'each message started one run',
    );
    const times = runs.flatMap(({ trigger }) => (trigger?.schedule ? [trigger.at] : []));
    assert.equal(new Set(times).size, times.length, 'each time started one run');
  } finally {
    for (const one of servers) one.kill('SIGKILL');
  }
}
