import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { PAYLOAD_BYTES } from '../../src/base/limits.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { smallDisk } from '../sqlite/small-disk.ts';
import { until } from '../until.ts';
import { runHere } from './in-process.ts';
import { cleanEnv, ENTRY, NODE, relay, shell, temporaryHome } from './program.ts';

const place = temporaryHome();
after(() => place[Symbol.dispose]());
const home = join(place.home, 'home');
const o = { home, cwd: place.home };
const outputs = async () => JSON.parse((await relay(['tee', 'list', '--json'], o)).stdout).outputs;

/** Returns the sizes of the spool files in bytes. */
function spools(where = home): number[] {
  const folder = join(where, 'outputs');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.spool')) : [];
  return names.map((name) => statSync(join(folder, name)).size);
}

test('after kill -9 of tee, the output up to a second before is listed and redeemable', async () => {
  const script = 'seq 1 3000; until [ -e end ]; do sleep 0.1; done';
  const name = '試験'.repeat(40);
  symlinkSync('/bin/sh', join(o.cwd, name));
  const child = spawn(NODE, [ENTRY, 'tee', '--', `./${name}`, '-c', script], {
    env: cleanEnv(o),
    cwd: o.cwd,
  });
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
  assert.deepEqual([exit, lines, command], [null, 3000, `${name} -c`]);
  assert.equal((await relay(['pull', handle, '--lines', '2999-'], o)).stdout, '2999\n3000\n');
  assert.deepEqual(spools(), []);
});

test('after kill -9 of the command, its output is stored', async () => {
  const ran = await relay(['tee', '--', 'sh', '-c', 'seq 1 3000; kill -9 $$'], o);
  assert.equal(ran.code, 137);
  assert.match(ran.stdout, /· exit 137 · relay pull \d+ --lines/);
});

test('on a full disk everything is printed with one warning, and no file is left', async (t) => {
  const disk = smallDisk(t, '3m');
  if (!disk) return;
  const script = 'yes "a line of forty characters, and no more" | head -n 120000 | cat -n';
  const whole = (await shell(script, o)).stdout;
  const ran = await relay(['tee', '--', 'sh', '-c', `${script}; exit 3`], { home: disk, cwd: place.home });
  assert.equal(ran.code, 3);
  assert.ok(ran.stdout === whole);
  assert.match(ran.stderr, /^warning The output is not stored, so all of it is printed: .*\n$/);
  assert.deepEqual(spools(disk), []);
});

/** Shell command that prints 30 MB in long lines with numbers. */
const LONG = `yes "${'ten chars '.repeat(100)}" | head -n 30000 | cat -n`;

test('an output above the size of a payload is one handle, and its lines are read across parts', async () => {
  const whole = (await shell(LONG, o)).bytes;
  // The output is stored in parts. The first part ends with the last whole line that fits into a payload.
  const first = whole.lastIndexOf('\n', PAYLOAD_BYTES - 1);
  const line = Number(/(\d+)\t[^\n]*$/.exec(whole.toString('latin1', first - 1100, first))![1]);
  await using server = await startRelay();
  for (const url of [[], ['--url', server.url]]) {
    const ran = await runHere(['tee', ...url, '--', 'sh', '-c', LONG], o);
    const [, handle] =
      /\[(relay:\d+) · 30,000 lines · [^\n]*\]\n$/.exec(ran.stdout) ?? assert.fail(ran.stderr);
    const pull = (...args: string[]) => runHere(['pull', handle!, ...url, ...args], o);
    assert.ok((await pull()).bytes.equals(whole));
    const part = await pull('--lines', `${line}-${line + 1}`);
    assert.match(part.stdout, new RegExp(`^ *${line}\\t.*\\n *${line + 1}\\t.*\\n$`));
    assert.equal((await runHere(['rm', handle!, ...url], o)).code, 0);
  }
  assert.equal((await server.core.relay(LOCAL_CALLER, server.url).pointers.list()).pointers.length, 0);
  const { blobs } = JSON.parse((await runHere(['du', '--json'], o)).stdout);
  assert.ok(blobs.bytes < 1024 * 1024, 'all parts are deleted');
});
