import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { claimServer, isAlive, pidFile, readServerRecord, releaseServer, runningServer } from './pid-file.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'relay-pid-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const record = (pid: number) => ({
  pid,
  url: `http://127.0.0.1:${pid}`,
  version: '0.0.0',
  started_at: '2026-01-01T00:00:00.000Z',
  log: null,
});

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  const { pid } = child;
  await once(child, 'exit');
  return pid!;
}

test('a home without a file has no server', () => {
  assert.equal(runningServer(home), null);
});

test('a claimed home names its server in a file with mode 0600, and leaves no temporary file', () => {
  assert.equal(claimServer(home, record(process.pid)), null);
  assert.equal(runningServer(home)?.url, `http://127.0.0.1:${process.pid}`);
  assert.equal(statSync(pidFile(home)).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(home), ['server.json']);
});

test('a second server gets the record of the first one and changes nothing', async () => {
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  try {
    claimServer(home, record(other.pid!));
    assert.equal(claimServer(home, record(process.pid))?.pid, other.pid);
    assert.equal(readServerRecord(home)?.pid, other.pid);
    assert.deepEqual(readdirSync(home), ['server.json']);
  } finally {
    other.kill('SIGKILL');
  }
});

test('the file of a dead server is stale and is replaced', async () => {
  const pid = await deadPid();
  writeFileSync(pidFile(home), JSON.stringify({ ...record(pid), birth: null }));
  assert.equal(runningServer(home), null);
  assert.equal(readServerRecord(home)?.pid, pid);
  assert.equal(claimServer(home, record(process.pid)), null);
  assert.equal(runningServer(home)?.pid, process.pid);
});

test('a process that reuses the process id is not the server', {
  skip: process.platform !== 'linux',
}, () => {
  assert.equal(isAlive({ pid: process.pid, birth: 'another-boot/1' }), false);
});

test('a server deletes its own file and never the file of another server', () => {
  claimServer(home, record(process.pid));
  releaseServer(home, process.pid + 1);
  assert.equal(runningServer(home)?.pid, process.pid);
  releaseServer(home, process.pid);
  assert.equal(readServerRecord(home), null);
});

test('a file with invalid content is ignored', () => {
  for (const text of ['', 'null', '{"pid":"1"}', '{"pid":-1,"url":"x"}', '{"pid":1}']) {
    writeFileSync(pidFile(home), text);
    assert.equal(readServerRecord(home), null, text);
  }
  assert.equal(claimServer(home, record(process.pid)), null);
});
