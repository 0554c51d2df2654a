import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { must, outsideEnv, ROOT, run, serve } from './processes.ts';

const skip = !existsSync(join(ROOT, '.git')) && 'this is not a clone, so it cannot be cloned';

describe("a fresh clone, with only the machine's Node on the PATH", { skip }, () => {
  const parent = mkdtempSync(join(tmpdir(), 'relay-clone-'));
  const clone = join(parent, 'a fresh clone');
  const home = join(parent, 'home');
  before(() => must('git', ['clone', '--quiet', '--no-hardlinks', ROOT, clone]));
  // Retry, because a background build of the executable may still write into this folder.
  after(() => rmSync(parent, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }));

  const env = () => outsideEnv({ RELAY_HOME: home, npm_config_prefer_offline: 'true' });

  test('npm start installs, builds, serves, prints the address and what to try, and stops on SIGTERM', async () => {
    const server = await serve('npm', ['start', '--', '--port', '0'], { cwd: clone, env: env() });
    const health = await fetch(`${server.url}/health`);
    assert.equal(health.status, 200);
    assert.equal(((await health.json()) as { status: string }).status, 'ok');
    assert.ok(server.output().includes(home), 'it says where the data is');
    server.child.kill('SIGTERM');
    // Wait for the end of the output, because npm may exit a moment before the server.
    await server.ended;
    await assert.rejects(fetch(`${server.url}/health`));
  });

  test('then ./relay runs from the sources, also through a symbolic link in another folder', async () => {
    const link = join(parent, 'relay-link');
    symlinkSync(join(clone, 'relay'), link);
    const { code, stdout, stderr } = await run(link, ['push', '-'], {
      cwd: parent,
      env: env(),
      input: 'hello\n',
    });
    assert.equal(code, 0, stderr);
    assert.equal((await run(link, ['pull', stdout.trim()], { env: env() })).stdout, 'hello\n');
  });

  test('git status stays clean', async () => {
    assert.equal(await must('git', ['status', '--porcelain'], { cwd: clone }), '');
  });
});
