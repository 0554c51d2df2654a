import assert from 'node:assert/strict';
import { appendFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { damageBody } from '../sqlite/damage.ts';
import { relay, temporaryHome } from './program.ts';

const place = temporaryHome();
const { home } = place;
after(() => place[Symbol.dispose]());

const run = (args: string[], stdin?: string | Buffer) => relay(args, { home, cwd: home, stdin });
const stdoutOf = async (args: string[], stdin?: string | Buffer) => (await run(args, stdin)).stdout.trim();

async function keyOf(id: string): Promise<{ key: string; file: string | null }> {
  await using engine = await openSqlite({ home });
  const { items } = await engine.blobs.list(`ptr.${id}/`);
  for await (const { key, file } of engine.checkBodies()) if (key === items[0]!.key) return { key, file };
  throw new Error(`${id} has no body`);
}

test('doctor --deep reads all data and lists missing, cut or altered payloads with their users', async () => {
  const push = async (size: number, ...flags: string[]) =>
    JSON.parse(await stdoutOf(['push', '--json', ...flags], Buffer.alloc(size, 'x'))).id as string;
  const [inRow, cut, missing, whole] = [
    await push(2000, '--channel', 'work'),
    await push(400_000),
    await push(400_000),
    await push(400_000),
  ];
  const thread = await stdoutOf(['thread', 'new', '--name', 'deep']);
  const ref = await stdoutOf(['artifact', 'put', '-', '--name', 'notes.md'], '# Notes');

  const well = await run(['doctor', '--deep', '--json']);
  assert.equal(well.code, 0, well.stdout);
  assert.deepEqual(JSON.parse(well.stdout).damaged, []);

  const file = `threads/${thread}/artifacts/${ref}.md`;
  appendFileSync(join(home, file), 'edited by hand');
  const bodies = { inRow: await keyOf(inRow), cut: await keyOf(cut), missing: await keyOf(missing) };
  damageBody(home, bodies.inRow.key, 1000);
  truncateSync(join(home, bodies.cut.file!), 100);
  rmSync(join(home, bodies.missing.file!));

  const deep = await run(['doctor', '--deep', '--json']);
  assert.equal(deep.code, 1);
  const { ok, damaged, checks } = JSON.parse(deep.stdout);
  assert.equal(ok, false);
  assert.deepEqual(damaged, [
    { ...bodies.inRow, fault: 'altered', refers: `pointer ${inRow}, in channel work` },
    { ...bodies.cut, fault: 'cut', refers: `pointer ${cut}` },
    { ...bodies.missing, fault: 'missing', refers: `pointer ${missing}` },
    {
      key: `thr.${thread}/artifacts/${ref}.md`,
      file,
      fault: 'altered',
      refers: `artifact ${ref} of thread ${thread}`,
    },
  ]);
  assert.equal(checks.filter((check: { name: string }) => check.name === 'payload').length, 4);

  const report = await run(['doctor', '--deep']);
  assert.match(report.stdout, /\d payloads read, .*; 4 damaged/);
  assert.match(report.stdout, new RegExp(`${file} is altered; used by artifact ${ref} of thread ${thread}`));
  const getResult = await run(['artifact', 'get', ref, '-t', thread]);
  assert.equal(getResult.code, 1);
  assert.match(getResult.stderr, /artifacts\/.*\.md is altered/);
  assert.match(getResult.stderr, /relay artifact put/);
  assert.equal((await stdoutOf(['pull', whole])).length, 400_000);
});

test('repair and backup skip damaged payloads and list them', async () => {
  const repaired = await run(['doctor', '--repair']);
  assert.match(repaired.stderr, /is missing or damaged/);
  const backup = join(home, '..', 'deep-backup');
  const backupResult = await run(['backup', backup, '--json']);
  assert.equal(backupResult.code, 1);
  assert.equal(JSON.parse(backupResult.stdout).lost.length, 4);
  assert.match(backupResult.stderr, /is damaged and not in the backup/);
  rmSync(backup, { recursive: true });
});

test('doctor --deep works only on the local store', async () => {
  writeFileSync(join(home, 'unused'), '');
  const { code, stderr } = await run(['doctor', '--deep', '--url', 'http://127.0.0.1:9', '--timeout', '1s']);
  assert.equal(code, 2);
  assert.match(stderr, /--deep works only on the local store/);
});

test('doctor --repair does not repair the local store if a server is to be checked', async () => {
  const { code, stdout, stderr } = await run(['doctor', '--repair', '--url', 'http://127.0.0.1:9']);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(stderr, /--repair works only on the local store/);
  assert.doesNotMatch(stderr, /Rebuilt/);
});
