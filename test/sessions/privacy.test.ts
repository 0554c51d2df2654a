import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { sessionHost } from '../../src/app/sessions/session-host.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { readRecording, restoreSession, writeTranscript } from './recordings.ts';
import { OWN_SCRIPTS } from './scripts-own.ts';

/** The secrets are assembled at run time, so that no scanner reports this file as a leak. */
const SECRETS = [
  `ghp_${'a1B2c3D4e5F6'.repeat(3)}`,
  `AKIA${'Q4ZT7NWXPLM2VKRB'}`,
  `sk-ant-api03-${'Zx9_Kq3vTn8L'.repeat(4)}`,
];
const PASSWORD = 'hunter2Zebra91';
const KEY = ['-----BEGIN PRIVATE KEY-----', 'MIIEvQIBADANBgkqh7Zx', '-----END PRIVATE KEY-----'].join('\n');
const PLANTED = [...SECRETS, PASSWORD, 'MIIEvQIBADANBgkqh7Zx'];

/** Restores a recorded session of the client, with secrets added to a prompt, a message and outputs. */
async function withSecrets(client: string): Promise<ScratchFolder> {
  const script = OWN_SCRIPTS.find((each) => each.client === client)!;
  const folder = await restoreSession(script);
  const { files } = readRecording(script.name, folder);
  const escaped = (text: string) => JSON.stringify(JSON.stringify(text)).slice(3, -3);
  const plain = (text: string) => JSON.stringify(text).slice(1, -1);
  const planted = `${SECRETS.join(' ')} DB_PASSWORD=${PASSWORD} ${KEY}`;
  const first = script.exchanges[0]!.prompt.slice(0, 20);
  const last = script.exchanges.at(-1)!.answer.slice(0, 20);
  const output = {
    claude: 'Exit code 1',
    codex: '"aggregated_output":"',
    gemini: 'Output: ',
    opencode: 'not ok: ',
  }[client]!;
  const changed = Object.entries(files).map(([path, text]) => {
    const secret = path.endsWith('.db') ? escaped(planted) : plain(planted);
    const withThem = [first, last, output].reduce((all, at) => all.replaceAll(at, `${at} ${secret} `), text);
    return [path, path.endsWith('projects.json') ? text : withThem] as const;
  });
  const other = new ScratchFolder();
  folder[Symbol.dispose]();
  other.git('init', '-q');
  await openProject(other.path).init();
  const moved = changed.map(([path, text]) => [
    path.replaceAll(folder.path.replace(/[^a-zA-Z0-9]/g, '-'), other.path.replace(/[^a-zA-Z0-9]/g, '-')),
    text.replaceAll(folder.path, other.path),
  ]);
  writeTranscript(other, Object.fromEntries(moved));
  return other;
}

/** Asserts that the texts contain no secret, but show where one was removed. */
function assertMasked(texts: readonly string[]): void {
  const all = texts.join('\n');
  for (const secret of PLANTED) assert.ok(!all.includes(secret), `${secret.slice(0, 4)} leaked`);
  assert.match(all, /DB_PASSWORD=\S*(?:redacted|\*\*\*|…)/i);
}

function indexOf(folder: ScratchFolder): string[] {
  const names = globSync('session-index/*', { cwd: folder.home });
  assert.ok(names.length > 0);
  return names.map((name) => {
    assert.equal(statSync(join(folder.home, name)).mode & 0o077, 0, name);
    return readFileSync(join(folder.home, name), 'latin1');
  });
}

for (const client of ['claude', 'codex', 'gemini', 'opencode']) {
  test(`secrets in a session of ${client} reach no list, turn, search or index`, async () => {
    using folder = await withSecrets(client);
    const host = sessionHost(
      join(folder.home, 'session-index', 'turns.sqlite'),
      { HOME: folder.home },
      () => true,
    );
    const [session] = await host.list({ folder: folder.path });
    const turns = await Array.fromAsync(host.turns(session!));
    const { hits } = await host.search('password', { folder: folder.path, limit: 50 });
    assert.ok(hits.length >= 3, `${hits.length} turns with secrets`);
    assertMasked([JSON.stringify([session, turns, hits]), ...indexOf(folder)]);
  });
}

test('secrets in a session reach no hand-off and no export', async () => {
  using folder = await withSecrets('claude');
  const brief = await folder.relay(['handoff', '--to', 'codex']);
  assert.match(brief.stdout, /\[session \w{4} turn 1\]/);
  const exported = await folder.relay(['session', 'export', '-e']);
  assert.match(exported.stdout, /#key=/);
  const pulled = await folder.relay(['pull', exported.stdout.trim()]);
  assert.match(pulled.stdout, /^# Session \w{4}: claude/);
  assertMasked([brief.stdout, brief.stderr, pulled.stdout]);
});

test('a forgotten session is gone from lists, searches and the index, and its transcript stays', async () => {
  using folder = await restoreSession(OWN_SCRIPTS[0]!);
  const search = () => folder.relay(['session', 'search', 'reviver']);
  assert.equal((await search()).code, 0);
  const [{ name }] = JSON.parse((await folder.relay(['session', 'list', '--json'])).stdout).sessions;
  assert.equal((await folder.relay(['session', 'forget', name])).code, 0);
  assert.equal((await folder.relay(['session', 'list'])).stdout, '');
  assert.equal((await search()).code, 1);
  const index = globSync('session-index/*', { cwd: folder.home }).map((file) =>
    readFileSync(join(folder.home, file), 'latin1'),
  );
  assert.ok(!index.join('').includes('reviver'));
  assert.equal(globSync('.claude/projects/*/*.jsonl', { cwd: folder.home }).length, 1);
});

test('with the option sessions off, no transcript is read', async () => {
  using folder = await restoreSession(OWN_SCRIPTS[0]!);
  const env = { RELAY_SESSIONS: 'off' };
  const host = sessionHost(
    join(folder.home, 'session-index', 'turns.sqlite'),
    { HOME: folder.home },
    () => false,
  );
  await assert.rejects(host.list({ folder: null }), { code: 'sessions_off' });
  await assert.rejects(host.search('x', { folder: null }), { code: 'sessions_off' });
  const listed = await folder.relay(['session', 'list'], { env });
  assert.match(listed.stderr, /sessions is off/);
  const brief = await folder.relay(['handoff', '--to', 'codex'], { env });
  assert.equal(brief.code, 0);
  assert.ok(!brief.stdout.includes('[session'));
});
