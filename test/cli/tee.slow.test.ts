import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { PAYLOAD_BYTES } from '../../src/base/limits.ts';
import { until } from '../until.ts';
import { cleanEnv, ENTRY, NODE, relay, shell, temporaryHome } from './program.ts';

const place = temporaryHome();
after(() => place[Symbol.dispose]());
const home = join(place.home, 'home');
const o = { home, cwd: place.home };
const outputs = async () => JSON.parse((await relay(['tee', 'list', '--json'], o)).stdout).outputs;

/** Returns the sizes of the spools. */
function spools(): number[] {
  const folder = join(home, 'outputs');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.spool')) : [];
  return names.map((name) => statSync(join(folder, name)).size);
}

test('after kill -9 of tee, the output up to a second before is listed and redeemable', async () => {
  const script = 'seq 1 3000; until [ -e end ]; do sleep 0.1; done';
  const child = spawn(NODE, [ENTRY, 'tee', '--', 'sh', '-c', script], { env: cleanEnv(o), cwd: o.cwd });
  await until(() => spools().some((size) => size > 13_893));
  child.kill('SIGKILL');
  await once(child, 'close');
  await relay(['tee', '--', 'touch', 'end'], o);
  const lists = await Promise.all([outputs(), outputs()]);
  assert.deepEqual(
    lists.map((list) => list.length),
    [1, 1],
  );
  const [{ handle, exit, lines, command }] = lists[0];
  assert.deepEqual([exit, lines, command], [null, 3000, 'sh -c']);
  assert.equal((await relay(['pull', handle, '--lines', '2999-'], o)).stdout, '2999\n3000\n');
  assert.deepEqual(spools(), []);
});

test('after kill -9 of the command, its output is stored', async () => {
  const ran = await relay(['tee', '--', 'sh', '-c', 'seq 1 3000; kill -9 $$'], o);
  assert.equal(ran.code, 137);
  assert.match(ran.stdout, /· exit 137 · relay pull \d+ --lines/);
});

test('an output above the size of a payload is one handle, and its lines are read across parts', async () => {
  const script = 'yes "a line of forty characters, and no more" | head -n 700000 | cat -n';
  const ran = await shell(`$relay tee -- sh -c '${script}'`, o);
  const [{ handle, bytes, lines }] = await outputs();
  assert.match(ran.stdout, new RegExp(`\\[${handle} · 700 000 lines · `));
  assert.ok(bytes > PAYLOAD_BYTES);
  assert.equal(lines, 700_000);
  const whole = (await shell(script, o)).bytes;
  const pulled = await relay(['pull', handle], o);
  const sha256 = (data: Buffer) => createHash('sha256').update(data).digest('hex');
  assert.equal(sha256(pulled.bytes), sha256(whole));
  // The first part ends with the last whole line that fits.
  const first = whole.lastIndexOf('\n', PAYLOAD_BYTES - 1);
  const line = Number(/(\d+)\t[^\n]*$/.exec(whole.toString('latin1', first - 60, first))![1]);
  const part = await relay(['pull', handle, '--lines', `${line}-${line + 1}`], o);
  assert.match(part.stdout, new RegExp(`^ *${line}\\t.*\\n *${line + 1}\\t.*\\n$`));
  assert.match((await relay(['pull', handle, '--lines', '-1'], o)).stdout, /^ *700000\t/);
  assert.equal((await relay(['rm', handle], o)).code, 0);
  const { blobs } = JSON.parse((await relay(['du', '--json'], o)).stdout);
  assert.ok(blobs.bytes < 1024 * 1024, 'all parts are deleted');
});
