import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startRelay } from '../http/relay-under-test.ts';
import { runHere } from './in-process.ts';
import { temporaryHome } from './program.ts';

for (const where of ['on the local store', 'on a server'] as const) {
  test(`relay file writes, reads, lists, shows versions and deletes, ${where}`, async () => {
    using at = temporaryHome();
    await using server = await startRelay();
    const env: Record<string, string> = where === 'on a server' ? { CONTEXTRELAY_URL: server.url } : {};
    const relay = (args: string, stdin?: string) =>
      runHere(['file', ...args.split(' ')], { ...at, env, stdin });
    const succeed = async (args: string, stdin?: string) => {
      const { code, stdout, stderr } = await relay(args, stdin);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const plan = join(at.home, 'plan.md');
    writeFileSync(plan, '# Plan\n\nFirst.\nThen.\n');
    assert.equal(await succeed(`put ${plan} notes/`), 'notes/plan.md\n');
    assert.equal(await succeed(`put ${plan} notes/drafts/`), 'notes/drafts/plan.md\n');
    assert.equal(
      await succeed('put - notes/plan.md --if-match v1 --type text/markdown', 'new\n'),
      'notes/plan.md\n',
    );
    assert.equal((await relay('put - notes/plan.md --if-match v1', 'x')).code, 1);
    assert.equal((await relay('put - notes/plan.md --new', 'x')).code, 1);
    const file = JSON.parse(
      await succeed('put - notes/temp --ttl 2h --keep 0 --metadata {"by":"ada"} --json', 'x'),
    );
    assert.deepEqual([file.version, file.metadata], [1, { by: 'ada' }]);
    assert.equal(Date.parse(file.expires_at) - Date.parse(file.modified_at), 7_200_000);

    assert.equal(await succeed('get notes/plan.md'), 'new\n');
    assert.equal(await succeed('get notes/plan.md --version v1 --lines 3-4'), 'First.\nThen.\n');
    assert.equal(JSON.parse(await succeed('get notes/plan.md --json')).content_type, 'text/markdown');
    assert.match(await succeed('get notes/plan.md --cost'), /^\d tokens/);
    const out = join(at.home, 'out.md');
    await succeed(`get notes/plan.md --version 1 --out ${out}`);
    assert.equal(readFileSync(out, 'utf8'), readFileSync(plan, 'utf8'));

    assert.equal(await succeed('ls'), 'notes/\n');
    assert.equal(await succeed('ls notes'), 'drafts/\nv2  4  plan.md\nv1  1  temp\n');
    assert.equal(await succeed('ls notes/drafts/ --recursive'), 'v1  21  drafts/plan.md\n');
    assert.equal(JSON.parse(await succeed('ls notes -n 1 --json')).more, true);
    const log = (await succeed('log notes/plan.md')).split('\n');
    assert.match(log[0]!, /^v2 {2}\S+ {2}local {2}4 {2}[0-9a-f]{64}$/);
    assert.match(log[1]!, /^v1/);

    assert.equal((await relay('rm notes/plan.md --if-match v1')).code, 1);
    assert.equal(await succeed('rm notes/plan.md'), 'deleted notes/plan.md\n');
    const result = await relay('get notes/plan.md');
    assert.deepEqual([result.code, result.stdout], [3, '']);
    assert.match(result.stderr, /relay file ls/);
    assert.equal(await succeed('rm notes/ --recursive'), 'deleted notes/\n');
    assert.equal(await succeed('ls'), '');
  });
}

test('relay file explains wrong arguments', async () => {
  using at = temporaryHome();
  for (const [args, pattern] of [
    ['get notes', /is a space, not a file/],
    ['put - notes/../a', /it contains "\.\."/],
    ['put - notes/', /has no file name/],
    ['put - a/b --keep 101', /--keep/],
    ['put - a/b --metadata []', /not a JSON object/],
    ['rm a/b --recursive --if-match v1', /cannot be used together/],
    ['get a/b --version x', /--version/],
  ] as const) {
    const { code, stderr } = await runHere(['file', ...args.split(' ')], { ...at, stdin: 'x' });
    assert.deepEqual([code, pattern.test(stderr)], [2, true], `${args}: ${stderr}`);
  }
  assert.equal(existsSync(join(at.home, 'a')), false);
});
