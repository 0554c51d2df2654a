import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { until } from '../until.ts';
import { relay, shell, temporaryHome } from './program.ts';

const places = [temporaryHome(), temporaryHome()] as const;
const [place, other] = places.map((p) => p.home) as [string, string];
const home = join(place, 'home');
after(() => {
  for (const p of places) p[Symbol.dispose]();
});

const run = (...args: string[]) => relay(args, { home, cwd: place });

test('du shows the used space, and prune frees expired data', async () => {
  const expiring = await relay(['push', '--ttl', '1', '--json'], {
    home,
    cwd: place,
    stdin: 'x'.repeat(300_000),
  });
  await relay(['push'], { home, cwd: place, stdin: 'kept' });
  const before = JSON.parse((await run('du', '--json')).stdout);
  assert.ok(before.diskBytes > 300_000);
  assert.match((await run('du')).stdout, /on disk +.*home/);
  const expiry = Date.parse(JSON.parse(expiring.stdout).expires_at);
  await until(() => Date.now() > expiry);
  const pruned = JSON.parse((await run('prune', '--json')).stdout);
  // The two records are the pointer and its list entry.
  assert.equal(pruned.records, 2);
  assert.equal((await run('prune')).stdout, 'nothing to prune\n');
});

test('a restore brings everything back, and replaces a store only with --force', async () => {
  const url = (await relay(['push'], { home, cwd: place, stdin: 'precious' })).stdout.trim();
  const backup = join(place, 'backup');
  assert.equal((await run('backup', backup)).code, 0);
  await run('rm', url);

  const restored = await relay(['restore', backup], { home: other });
  assert.equal(restored.code, 0, restored.stderr);
  assert.equal((await relay(['pull', url], { home: other })).stdout, 'precious');

  const unasked = await run('restore', backup);
  assert.notEqual(unasked.code, 0);
  assert.match(unasked.stderr, /--force/);
  assert.equal((await run('peek', url)).code, 3);
  assert.equal((await run('restore', backup, '--force')).code, 0);
  assert.equal((await run('pull', url)).stdout, 'precious');
});

test('a missing backup and an empty home are named with their paths', async () => {
  const empty = join(place, 'empty');
  const none = await relay(['restore', join(place, 'nowhere')], { home: empty, cwd: place });
  assert.equal(none.code, 3);
  assert.match(
    none.stderr,
    /There is no backup at .*nowhere\.\n {2}→ Name the folder that relay backup wrote/,
  );
  const nothing = await relay(['backup', join(place, 'of-nothing')], { home: empty, cwd: place });
  assert.equal(nothing.code, 3);
  assert.match(nothing.stderr, /There is no store at .*empty\./);
});

test('doctor passes on a healthy store and names problems', async () => {
  const well = await run('doctor');
  assert.equal(well.code, 0, well.stdout);
  for (const name of ['runtime', 'configuration', 'home', 'store', 'round trip', 'disk', 'clock', 'server']) {
    assert.match(well.stdout, new RegExp(`^(ok|warning) +${name}: `, 'm'));
  }
  chmodSync(home, 0o755);
  const open = await run('doctor', '--json');
  chmodSync(home, 0o700);
  assert.equal(open.code, 1);
  const { ok, checks } = JSON.parse(open.stdout);
  assert.equal(ok, false);
  const homeCheck = checks.find((check: { name: string }) => check.name === 'home');
  assert.equal(homeCheck.fix, `chmod 700 ${home}`);
});

test('doctor warns about a relay of another version on the PATH', async () => {
  const folder = join(place, 'path');
  mkdirSync(folder);
  const other = join(folder, 'relay');
  const says = async (script: string) => {
    writeFileSync(other, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env.PATH}` };
    return (await relay(['doctor'], { home, cwd: place, env })).stdout;
  };
  assert.match(
    await says('echo 0.0.7'),
    /^warning +program: \S+\/relay on the PATH is version 0\.0\.7; this is /m,
  );
  assert.match(await says('exit 3'), /^warning +program: \S+\/relay on the PATH does not run/m);
  const { version } = JSON.parse((await run('version', '--json')).stdout);
  assert.doesNotMatch(await says(`echo ${version}`), /program:/);
});

test('doctor reports a damaged store', async () => {
  const damaged = join(place, 'damaged');
  mkdirSync(damaged, { mode: 0o700 });
  writeFileSync(join(damaged, 'relay.db'), 'this is no database at all, whatever its name says'.repeat(200));
  const { code, stdout } = await relay(['doctor'], { home: damaged, cwd: place });
  assert.equal(code, 1);
  assert.match(stdout, /^wrong +store: /m);
});

test('the demo counts a real hand-off and leaves nothing behind', async () => {
  const empty = join(place, 'untouched');
  const { code, stdout } = await relay(['demo', '--json'], { home: empty, cwd: place });
  assert.equal(code, 0);
  const { document, steps, pasted, relayed, tokenizer } = JSON.parse(stdout);
  assert.equal(tokenizer, 'o200k_base');
  assert.ok(document.tokens > 45_000 && document.tokens < 55_000, String(document.tokens));
  assert.equal(pasted.read, document.tokens);
  const readSteps = steps.filter((s: { does: string }) => s.does === 'reads');
  assert.equal(
    relayed.read,
    readSteps.reduce((sum: number, s: { tokens: number }) => sum + s.tokens, 0),
  );
  assert.ok(relayed.read + relayed.written < pasted.read);
});

test('completion follows the command tree in bash', async () => {
  const ask = (commandLine: string) => {
    const list = commandLine.split(' ');
    return `COMP_WORDS=(${list.map((w) => `'${w}'`).join(' ')}); COMP_CWORD=${list.length - 1}; _relay; echo "\${COMPREPLY[*]}"`;
  };
  const { stdout, stderr } = await shell(
    `source <($relay completion bash); ${ask('relay pul')}; ${ask('relay --home /x pull --li')}; ${ask('relay completion ')}`,
    { home, cwd: place },
  );
  assert.equal(stderr, '');
  assert.equal(stdout, 'pull\n--lines\nbash zsh fish\n');
  for (const shell of ['zsh', 'fish']) {
    const script = (await run('completion', shell)).stdout;
    for (const word of ['push', 'doctor', 'json-pointer'])
      assert.ok(script.includes(word), `${shell}: ${word}`);
  }
});
