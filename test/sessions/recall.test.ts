import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BRIEF_TOKENS, SESSION_LOSS_TOKENS } from '../../src/base/limits.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { overHttp, overStdio } from '../mcp/clients.ts';
import { countTokens } from '../token-count.ts';
import { restoreSession } from './recordings.ts';
import { OWN_SCRIPTS } from './scripts-own.ts';
import { PLAIN_SCRIPTS } from './scripts-plain.ts';

const [script] = OWN_SCRIPTS;

test('after a compaction the hook repeats what was asked, corrected and tried, within its budget', async () => {
  using folder = await restoreSession(script!);
  const [{ id, name }] = JSON.parse((await folder.relay(['session', 'list', '--json'])).stdout).sessions;
  const start = async (source: string, env = {}) => {
    const stdin = JSON.stringify({ cwd: folder.path, session_id: id, source });
    const { stdout } = await folder.relay(['hook', 'claude', 'session-start'], { stdin, env });
    return JSON.parse(stdout).hookSpecificOutput.additionalContext as string;
  };
  const after = await start('compact');
  const loss = after.slice(0, after.indexOf('# Project brief'));
  assert.ok(countTokens(loss).tokens <= SESSION_LOSS_TOKENS);
  assert.ok(countTokens(after).tokens <= BRIEF_TOKENS);
  for (const phrase of [
    'Limit the nesting depth of parse to 512 levels',
    'Use a small state machine',
    'reviver has no depth',
    'changed: parser.js',
    `[session ${name} turn 1]`,
    `session search --session ${name}`,
  ])
    assert.ok(loss.includes(phrase), `${phrase}\n${loss}`);
  assert.ok(!(await start('startup')).includes('512 levels'));
  assert.ok(!(await start('compact', { RELAY_SESSIONS: 'off' })).includes('512 levels'));
});

for (const [recorded, phrases] of [
  ['invoice-cents', ['round every line', 'Do not touch total()', 'unsupported locale', 'billing/api.py']],
  ['cursor-pages', ['Replace page numbers by cursors', 'Zapier', 'Cannot destructure', 'store.js']],
] as const)
  test(`after the recorded compaction of ${recorded} the hook repeats what the context window lost`, async () => {
    const { client, exchanges, ...rest } = PLAIN_SCRIPTS.find(({ name }) => name === recorded)!;
    using folder = await restoreSession({ client, exchanges, ...rest });
    const [{ id }] = JSON.parse((await folder.relay(['session', 'list', '--json'])).stdout).sessions;
    const turns = JSON.parse((await folder.relay(['session', 'show', id, '--json'])).stdout).turns;
    const summary = exchanges.find(({ compaction }) => compaction)!.compaction!;
    assert.ok(JSON.stringify(turns).includes(summary));
    const stdin = JSON.stringify({ cwd: folder.path, session_id: id, source: 'compact' });
    const { stdout } = await folder.relay(['hook', client, 'session-start'], { stdin });
    const text: string = JSON.parse(stdout).hookSpecificOutput.additionalContext;
    const loss = text.slice(0, text.indexOf('# Project brief'));
    assert.ok(countTokens(loss).tokens <= SESSION_LOSS_TOKENS);
    for (const part of phrases) assert.ok(loss.includes(part), `${part}\n${loss}`);
    assert.ok(!loss.includes(summary), 'the window still has the summary');
  });

test('the MCP tool recall searches sessions over stdio, with --tools sessions only, and never over HTTP', async () => {
  using folder = await restoreSession(script!);
  const env = { HOME: folder.home };
  const cwd = folder.path;
  await using mcp = await overStdio(folder.home, '2025-11-25', { args: ['--tools', 'sessions'], env, cwd });
  const answer = await mcp.call('recall', { query: 'why no regular expressions' });
  assert.match(answer, /^>>> relay data/);
  assert.match(answer, /too slow last time/);
  const [, place] = /\[session (\w{4} turn \d+)\]/.exec(answer)!;
  assert.match(await mcp.call('recall', { turn: place!.replace(' turn ', ':') }), /relay data[\s\S]+\w/);
  assert.match(await mcp.call('recall', {}), /needs "query" or "turn"/);
  await using plain = await overStdio(folder.home, '2025-11-25', { env, cwd });
  assert.ok(!(await plain.client.listTools()).tools.some(({ name }) => name === 'recall'));
  await using relay = await startRelay();
  await using http = await overHttp(`${relay.url}/mcp?tools=sessions`, '2025-11-25');
  assert.ok(!(await http.client.listTools()).tools.some(({ name }) => name === 'recall'));
});

test('handoff --start runs the client with one fixed sentence, and the brief is in a file that only the user can read', async () => {
  using folder = await restoreSession(script!);
  const bin = join(folder.home, 'bin');
  mkdirSync(bin);
  folder.write(
    '../home/bin/codex',
    `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > "${folder.home}/started"\nexit 3\n`,
  );
  chmodSync(join(bin, 'codex'), 0o755);
  const env = { PATH: `${bin}:${process.env.PATH}` };
  for (const args of [
    ['handoff', '--to', 'codex', '--start'],
    ['session', 'resume', '--to', 'codex'],
  ]) {
    const { code, stderr } = await folder.relay(args, { env });
    assert.equal(code, 3, stderr);
    const [count, sentence] = readFileSync(join(folder.home, 'started'), 'utf8').split('\n');
    assert.equal(count, '1');
    assert.equal(
      sentence,
      'Read the hand-off in .relay/handoff.md (cat .relay/handoff.md) and go on with the work that it describes.',
    );
    assert.equal(statSync(join(folder.path, '.relay/handoff.md')).mode & 0o777, 0o600);
    const brief = folder.read('.relay/handoff.md');
    assert.match(brief, /^>>> relay data/);
    assert.match(brief, /512 levels/);
    assert.ok(!folder.git('status', '--short').includes('handoff.md'));
  }
  const unknown = await folder.relay(['handoff', '--to', 'nobody', '--start'], { env });
  assert.notEqual(unknown.code, 0);
  assert.match(unknown.stderr, /nobody/);
  assert.ok(existsSync(join(folder.path, '.relay/handoff.md')));
});
