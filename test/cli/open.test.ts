import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBrowser } from '../../src/interfaces/cli/commands/server.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { pushJson, startRelay } from '../http/relay-under-test.ts';
import { until } from '../until.ts';
import { runHere } from './in-process.ts';
import { temporaryHome } from './program.ts';

test('relay open opens the overview, a thread, a pointer with its fragment, or a channel', async () => {
  await using relay = await startRelay();
  using place = temporaryHome();
  const { home } = place;
  const open = async (...args: string[]) => {
    const { stdout, code } = await runHere(['open', ...args, '--url', relay.url], { home });
    assert.equal(code, 0);
    return stdout.trim().slice(relay.url.length);
  };
  const { thread_id } = await httpRelay({ baseUrl: relay.url }).threads.create();
  const { answer } = await pushJson(relay, { data: 'x' });
  const key = `${'A'.repeat(43)}=`;
  assert.equal(await open(), '/ui/');
  assert.equal(await open(thread_id), `/ui/threads/${thread_id}`);
  assert.equal(await open(answer.id), `/pull/${answer.id}`);
  assert.equal(await open(`${answer.url}#key=${key}`), `/pull/${answer.id}#key=${key}`);
  assert.equal(await open('team/news'), '/ui/channels/team%2Fnews');
});

test('relay open fails if no server runs', async () => {
  using place = temporaryHome();
  const { code, stderr } = await runHere(['open'], { home: place.home });
  assert.equal(code, 1);
  assert.match(stderr, /relay up/);
});

test('a browser is started only if there is a display, and gets the address as one argument', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-open-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const outputFile = join(folder, 'got');
  writeFileSync(
    join(folder, 'xdg-open'),
    `#!/bin/sh\nprintf '%s|%s' "$#" "$1" > '${outputFile}.part' && mv '${outputFile}.part' '${outputFile}'\n`,
  );
  chmodSync(join(folder, 'xdg-open'), 0o755);
  const url = 'http://127.0.0.1:1/ui/channels/a%20b;touch%20x';
  assert.equal(await openBrowser(url, {}, 'linux'), false);
  const before = process.env.PATH;
  process.env.PATH = `${folder}:${before}`;
  t.after(() => {
    process.env.PATH = before;
  });
  assert.equal(await openBrowser(url, { DISPLAY: ':0' }, 'linux'), true);
  const read = () => {
    try {
      return readFileSync(outputFile, 'utf8');
    } catch {
      return null;
    }
  };
  await until(() => read() !== null);
  assert.equal(read(), `1|${url}`);
});
