import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { unpackFolder } from '../pins/store-home.ts';
import { until } from '../until.ts';
import { hostWorker } from './worker-relay.ts';

/** The store of a Worker of commit 2c9b38c6 (`make-former-store.ts`), in which data was spread over many objects. */
const FIXTURES = join(import.meta.dirname, '..', 'fixtures');
const FORMER: Former = JSON.parse(readFileSync(join(FIXTURES, 'worker-v1.json'), 'utf8'));
const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'cloudflare', 'move.ts');

interface Former {
  readonly now: number;
  readonly admin: string;
  readonly tenants: {
    readonly [name: string]: {
      readonly [what in 'key' | 'small' | 'large' | 'once' | 'thread' | 'ref' | 'token']: string;
    };
  };
}

async function start(t: TestContext, vars: { [name: string]: string }) {
  const home = mkdtempSync(join(tmpdir(), 'relay-move-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  unpackFolder(readFileSync(join(FIXTURES, 'worker-v1.home.gz')), home);
  const shift = FORMER.now - Date.now();
  const env = { ...systemEnv, now: () => Date.now() + shift };
  const host = await hostWorker({
    vars: { RELAY_ADMIN_KEY: FORMER.admin, ...vars },
    env,
    step: () => ({ shift }),
    home,
  });
  t.after(() => host.dispose());
  return host.platform.url;
}

async function move(url: string, admin = FORMER.admin): Promise<{ code: number; said: string }> {
  const env = { ...process.env, RELAY_ADMIN_KEY: admin };
  const program = spawn(process.execPath, [SCRIPT, '--to', url], { env });
  let said = '';
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (text) => (said += text));
  const [code] = await once(program, 'exit');
  return { code, said };
}

async function assertMoved(url: string, tenant: string, key: string | undefined) {
  const { small, large, once: counted, thread: id, ref, token } = FORMER.tenants[tenant]!;
  const relay = new ContextRelay({ baseUrl: url, apiKey: key });
  const at = (pointer: string) => `${url}/pull/${pointer}`;
  assert.equal(await relay.pull(at(small)), `small of ${tenant}`);
  assert.equal(
    await (await fetch(`${at(large)}?raw=1`, auth(key))).text(),
    'All happy relays are alike.\n'.repeat(40_000),
  );
  assert.equal(await relay.pull(at(counted)), 'twice');
  await assert.rejects(
    relay.pull(at(counted)),
    { code: 'not_found' },
    'one pull was counted before the move',
  );
  const { rungs } = { rungs: (await relay.receipts(at(small))).receipts.map(({ rung }) => rung) };
  assert.ok(rungs.includes('stored'));
  const { last_seq, messages } = (await relay.channels.inspect('many')) as never as {
    last_seq: number;
    messages: number;
  };
  assert.equal(messages, 130);
  const { seq } = await relay.publish('many', 'after the move');
  assert.ok(seq > last_seq);
  const work: unknown[] = [];
  const member = relay.subscribe('work', ({ msg }) => void work.push(msg), { group: 'g' });
  await until(() => work.length === 1);
  await member.close();
  assert.deepEqual(work, ['waiting'], 'an acknowledged message stays acknowledged');
  const thread = relay.threads.open(id);
  assert.equal((await thread.state()).facts[0]!.value, tenant);
  const artifact = await fetch(`${url}/threads/${id}/artifacts/${ref}?raw=1`, auth(key));
  assert.match(await artifact.text(), new RegExp(`whale of ${tenant}`));
  assert.equal((await thread.artifacts.search('white whale'))[0]!.ref, ref);
  const notes = relay.files.space('notes');
  assert.equal(await notes.text('a/b.md'), `two of ${tenant}`);
  assert.deepEqual(
    (await notes.log('a/b.md')).map(({ version }) => version),
    [2, 1],
  );
  if (key !== undefined) {
    const shared = await fetch(`${url}/threads/${id}`, auth(token));
    assert.equal(shared.status, 200, 'a share link works');
  }
}

const auth = (key: string | undefined) =>
  key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } };

test('a store of an earlier version moves with one command, and keys, counts and positions stay', async (t) => {
  const url = await start(t, { RELAY_OPEN: 'false' });
  const refused = await fetch(`${url}/channels`, auth(FORMER.tenants.acme!.key));
  assert.deepEqual([refused.status, (await refused.json()).code], [503, 'store_not_moved']);
  assert.equal((await move(url, 'wrong')).code, 1);
  const { code, said } = await move(url);
  assert.deepEqual([code, /Moved \d+ objects: .* records/.test(said)], [0, true], said);
  for (const [tenant, { key }] of Object.entries(FORMER.tenants)) await assertMoved(url, tenant, key);
  const foreign = new ContextRelay({ baseUrl: url, apiKey: FORMER.tenants.acme!.key });
  await assert.rejects(foreign.pull(`${url}/pull/${FORMER.tenants.local!.small}`), { code: 'not_found' });
  await foreign.delete(`${url}/pull/${FORMER.tenants.acme!.small}`);
  assert.equal((await move(url)).code, 0);
  const deleted = foreign.pull(`${url}/pull/${FORMER.tenants.acme!.small}`);
  await assert.rejects(deleted, { code: 'not_found' }, 'a second move restores nothing');
  assert.equal((await foreign.channels.inspect('many')).messages, 131);
});

test('the store of an open Worker moves into one object', async (t) => {
  const url = await start(t, { RELAY_OPEN: 'true' });
  assert.equal((await move(url)).code, 0);
  await assertMoved(url, 'local', undefined);
});
