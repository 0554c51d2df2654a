import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { relay, temporaryHome } from './program.ts';

const bodyOf = (n: number) => `${n} `.repeat(100_000);

test('a command leaves the WAL to the next one, which goes on with it and keeps it short', async () => {
  using at = temporaryHome();
  const wal = join(at.home, 'relay.db-wal');
  const file = join(at.home, 'body.txt');
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await relay(args, { home: at.home });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const pushed: string[] = [];
  for (let n = 0; n < 12; n++) {
    writeFileSync(file, bodyOf(n));
    pushed.push(JSON.parse(await said('push', file, '--json')).url);
    assert.ok(existsSync(wal), 'it is there');
    assert.ok(statSync(wal).size < 2 * 1024 * 1024, 'it starts anew');
  }
  for (const [n, url] of pushed.entries()) assert.equal(await said('pull', url), bodyOf(n));
  await said('rm', pushed[0]!);
  assert.ok(!readFileSync(wal, 'latin1').includes('0 0 0 0'), 'of what was removed it shows nothing');
});
