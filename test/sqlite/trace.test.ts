import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryHome } from './home.ts';

/**
 * System calls of each write. The script writes a byte after each acknowledgement; these bytes separate the writes.
 */
interface Trace {
  /** System calls of the first writes, which also create files and folders. */
  readonly first: string[];
  readonly blob: string[];
  readonly record: string[];
  /** System calls when a body is stored together with the record that names it. */
  readonly together: string[];
}

test('a body in a file is acknowledged when file, folder and WAL are on disk', (t) => {
  const trace = traced(t, { bytes: 300_000 });
  if (!trace) return;
  const body = /(fsync|fdatasync)\(\d+<[^>]*\/blobs\/[0-9a-f]{2}\/[0-9a-f]{32}>\)\s+= 0/;
  const folder = /(fsync|fdatasync)\(\d+<[^>]*\/blobs\/[0-9a-f]{2}>\)\s+= 0/;
  const row = /pwrite64\(\d+<[^>]*relay\.db-wal>/;
  const wal = /(fsync|fdatasync)\(\d+<[^>]*relay\.db-wal>\)\s+= 0/;
  const at = (pattern: RegExp) => trace.blob.findIndex((line) => pattern.test(line));
  for (const pattern of [body, folder, row, wal])
    assert.ok(at(pattern) >= 0, `no ${pattern} in\n${trace.blob.join('\n')}`);
  assert.ok(at(body) < at(row) && at(folder) < at(row), 'the row is written after the body is synced');
  assert.ok(at(row) < at(wal), 'and is then synced itself');
  const lastBodyWrite = trace.blob.findLastIndex((line) =>
    /(pwrite64|writev?|pwritev)\(\d+<[^>]*\/blobs\//.test(line),
  );
  assert.ok(lastBodyWrite >= 0 && lastBodyWrite < at(body), 'all of the body was written before its fsync');
});

test('a small body and a record are acknowledged after one fsync of the WAL each', (t) => {
  const trace = traced(t, { bytes: 100_000 });
  if (!trace) return;
  for (const lines of [trace.blob, trace.record]) {
    const synced = lines.filter((line) => /(fsync|fdatasync)\(/.test(line));
    assert.equal(synced.length, 1, synced.join('\n'));
    assert.match(synced[0]!, /relay\.db-wal>\)\s+= 0/);
    const lastWalWrite = lines.findLastIndex((line) => /pwrite64\(\d+<[^>]*relay\.db-wal>/.test(line));
    assert.ok(lastWalWrite >= 0 && lastWalWrite < lines.indexOf(synced[0]!), 'nothing is written behind it');
  }
});

test('a body in a segment is acknowledged when the segment and then the WAL are on disk', (t) => {
  const trace = traced(t, { bytes: 200_000, role: 'server' });
  if (!trace) return;
  const at = (pattern: RegExp) => trace.blob.findIndex((line) => pattern.test(line));
  const bodyWrite = at(/(pwrite64|pwritev)\(\d+<[^>]*\/blobs\/segments\/[0-9a-f]{32}>/);
  const body = at(/fdatasync\(\d+<[^>]*\/blobs\/segments\/[0-9a-f]{32}>\)\s+= 0/);
  const row = at(/pwrite64\(\d+<[^>]*relay\.db-wal>/);
  const wal = at(/(fsync|fdatasync)\(\d+<[^>]*relay\.db-wal>\)\s+= 0/);
  assert.ok(bodyWrite >= 0 && bodyWrite < body && body < row && row < wal, trace.blob.join('\n'));
});

test('a body and the record that names it are acknowledged after one fsync of the segment and one of the WAL', (t) => {
  const trace = traced(t, { bytes: 200_000, role: 'server' });
  if (!trace) return;
  const synced = trace.together.filter((line) => /(fsync|fdatasync)\(/.test(line));
  assert.equal(synced.length, 2, synced.join('\n'));
  assert.match(synced[0]!, /\/blobs\/segments\/[0-9a-f]{32}>\)\s+= 0/);
  assert.match(synced[1]!, /relay\.db-wal>\)\s+= 0/);
  const rows = trace.together.findIndex((line) => /pwrite64\(\d+<[^>]*relay\.db-wal>/.test(line));
  assert.ok(rows > trace.together.indexOf(synced[0]!), 'the rows are written after the body is synced');
});

test('a single body on a server and its record are acknowledged after one fsync of the WAL', (t) => {
  const trace = traced(t, { bytes: 100_000, role: 'server' });
  if (!trace) return;
  const synced = trace.together.filter((line) => /(fsync|fdatasync)\(/.test(line));
  assert.equal(synced.length, 1, synced.join('\n'));
  assert.match(synced[0]!, /relay\.db-wal>\)\s+= 0/);
});

test('the first body in a segment is acknowledged when the names of the segment and its folder are on disk', (t) => {
  const trace = traced(t, { bytes: 200_000, role: 'server' });
  if (!trace) return;
  const at = (pattern: RegExp) => trace.first.findIndex((line) => pattern.test(line));
  const name = at(/(fsync|fdatasync)\(\d+<[^>]*\/blobs\/segments>\)\s+= 0/);
  const folder = at(/(fsync|fdatasync)\(\d+<[^>]*\/blobs>\)\s+= 0/);
  const row = at(/pwrite64\(\d+<[^>]*relay\.db-wal>/);
  assert.ok(folder >= 0 && folder < name && name < row, trace.first.join('\n'));
});

test('a body at a chosen path is acknowledged when file, folder and WAL are on disk', (t) => {
  const trace = traced(t, { bytes: 1000, place: 'threads/t1/artifacts/a.txt' });
  if (!trace) return;
  const at = (pattern: RegExp) => trace.blob.findIndex((line) => pattern.test(line));
  const body = at(/(fsync|fdatasync)\(\d+<[^>]*\/blobs\/draft\/[0-9a-f]{32}>\)\s+= 0/);
  const moved = at(/rename(at2?)?\(.*threads\/t1\/artifacts\/a\.txt.*= 0/);
  const folder = at(/(fsync|fdatasync)\(\d+<[^>]*\/threads\/t1\/artifacts>\)\s+= 0/);
  const wal = at(/(fsync|fdatasync)\(\d+<[^>]*relay\.db-wal>\)\s+= 0/);
  assert.ok(body >= 0 && body < moved && moved < folder && folder < wal, trace.blob.join('\n'));
});

function traced(t: TestContext, options: { bytes: number; place?: string; role?: 'server' }): Trace | null {
  const home = temporaryHome(t);
  const log = join(home, 'trace');
  const script = fileURLToPath(new URL('scripts/push-once.ts', import.meta.url));
  const store = JSON.stringify({ home: join(home, 'store'), ...options });
  const calls = 'fsync,fdatasync,write,writev,pwrite64,pwritev,rename,renameat,renameat2';
  const args = ['-f', '-y', '-s', '8', '-e', `trace=${calls}`, '-o', log, process.execPath, script, store];
  const run = spawnSync('strace', args, { encoding: 'utf8' });
  if (run.error || /ptrace|Operation not permitted/.test(run.stderr)) {
    t.skip(`strace cannot run here: ${run.error?.message ?? run.stderr.trim()}`);
    return null;
  }
  assert.equal(run.status, 0, run.stderr);
  const lines = joined(readFileSync(log, 'utf8').split('\n'));
  const indexOfByte = (byte: string) => {
    const writeAt = lines.findIndex((line) => /\bwrite\(1</.test(line) && line.includes(`"${byte}"`));
    assert.ok(writeAt >= 0, `${byte} was never written`);
    return writeAt;
  };
  return {
    first: lines.slice(0, indexOfByte('S')),
    blob: lines.slice(indexOfByte('S') + 1, indexOfByte('B')),
    record: lines.slice(indexOfByte('B') + 1, indexOfByte('R')),
    together: lines.slice(indexOfByte('R') + 1, indexOfByte('T')),
  };
}

/**
 * Joins a call that strace prints in two lines, because another thread interrupted it. The joined line is at the
 * place of the second line.
 */
function joined(lines: readonly string[]): string[] {
  const begun = new Map<string, string>();
  const whole: string[] = [];
  for (const line of lines) {
    const pid = line.split(' ', 1)[0]!;
    const cut = line.indexOf(' <unfinished ...>');
    const resumed = /<\.\.\. \w+ resumed>(.*)$/.exec(line);
    if (cut >= 0) begun.set(pid, line.slice(0, cut));
    else whole.push(resumed ? (begun.get(pid) ?? '') + resumed[1] : line);
  }
  return whole;
}
