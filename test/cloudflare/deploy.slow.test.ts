import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const run = (script: string, ...args: string[]) =>
  spawnSync(process.execPath, [join(ROOT, 'scripts', 'cloudflare', script), ...args], { encoding: 'utf8' });

test('wrangler takes what is to be deployed, with the table of tokens', (t) => {
  const out = mkdtempSync(join(tmpdir(), 'relay-deploy-'));
  t.after(() => rmSync(out, { recursive: true, force: true }));
  const { status, stdout, stderr } = run('deploy.ts', '--dry-run', '--outdir', out);
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /STORE[\s\S]*BODIES/);
  assert.ok(
    readdirSync(out).some((name) => name.endsWith('.bin')),
    readdirSync(out).join(),
  );
});

test('what the original Worker kept is pushed anew, with its metadata', async (t) => {
  const worker = await startWorker();
  t.after(() => worker.stop());
  const folder = mkdtempSync(join(tmpdir(), 'relay-kv-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'export.json');
  const entries = [
    { key: 'a', value: JSON.stringify({ data: 'kept', metadata: { summary: 's' } }) },
    { key: 'b', value: 'bare text of an older version' },
    { key: 'keyhash:0', value: '{}' },
  ];
  writeFileSync(file, JSON.stringify(entries));
  const { status, stdout, stderr } = run('import-kv.ts', file, '--to', worker.url);
  assert.equal(status, 0, stderr);
  const moved = stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  assert.deepEqual(
    moved.map(([key]) => key),
    ['a', 'b'],
  );
  const relay = new ContextRelay({ baseUrl: worker.url });
  assert.equal(await relay.pull(moved[0]![1]!), 'kept');
  assert.deepEqual(await relay.peek(moved[0]![1]!), { summary: 's' });
  assert.equal(await relay.pull(moved[1]![1]!), 'bare text of an older version');
  assert.match(readFileSync(file, 'utf8'), /keyhash/);
});
