import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { agentName, registerSession } from './sessions.ts';

const DAY_MS = 24 * 3_600_000;

test('a session that has not changed is written again only if its files are a day old', async () => {
  const home = mkdtempSync(join(tmpdir(), 'relay-sessions-'));
  const folder = join(home, 'sessions');
  const session = { client: 'claude', session: 's-1', folder: '/project', agent: 'ada' };
  const files = () => readdirSync(folder).map((name) => join(folder, name));
  const written = () => files().map((file) => statSync(file, { bigint: true }).ino);
  const backdate = (ms: number) => {
    const time = new Date(Date.now() - ms);
    for (const file of files()) utimesSync(file, time, time);
  };
  try {
    await registerSession(home, session);
    const first = written();
    assert.equal(first.length, 2, 'one file for the session and one for its folder');
    await registerSession(home, session);
    assert.deepEqual(written(), first);
    backdate(2 * DAY_MS);
    await registerSession(home, session);
    assert.ok(files().every((file) => Date.now() - statSync(file).mtimeMs < DAY_MS));

    await registerSession(home, { ...session, agent: 'grace' });
    assert.equal(agentName(home, {}, '/project/deep', 'claude'), 'grace');

    // Another session in the folder takes over the file of the folder.
    await registerSession(home, { ...session, session: 's-2' });
    const sessions = files().map((file) => JSON.parse(readFileSync(file, 'utf8')).session);
    assert.deepEqual(sessions.sort(), ['s-1', 's-2', 's-2']);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
