import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { TmuxRunner } from '../../src/runners/tmux/tmux-runner.ts';
import { startTestServer } from '../channels/server.ts';
import { ENTRY, NODE, relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { client, startWorker } from './bridge.ts';
import { startProgram } from './processes.ts';
import { SCRIPTED } from './scripted-profile.ts';
import { taskTexts } from './task-texts.ts';
import { openTerminal } from './terminal.ts';

/** A program without a built-in profile: it prints a prompt sign, reads a line and works on it. */
const lines = (work: string) => `printf '> '; while read -r line; do ${work}; printf '> '; done`;
const UNKNOWN = { other: { ready: '(?:^|\\n)>$', settle_ms: 300 } };

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const command = `${NODE} ${ENTRY}`;
for (const [how, tasks] of [
  ['screen', 4],
  ['command', 2],
] as const) {
  test(`tasks reach an agent in a terminal unchanged, and the result comes back by ${how}`, async () => {
    await using server = await startTestServer();
    await using terminal = await openTerminal({ env: { CONTEXTRELAY_URL: server.url, TUI_DONE: how } });
    const runner = new TmuxRunner({ ...terminal, profiles: SCRIPTED });
    await using _ = await startWorker(server, runner, { command });
    const bridge = new AgentBridge(client(server));
    for (const text of taskTexts(tasks)) {
      const answer = await bridge.sendAndWait(text, { timeout: 60_000 });
      assert.equal(answer.status, 'done', answer.text);
      assert.match(answer.text, new RegExp(`sha256 ${sha256(text)}`));
    }
  });
}

test('the result of an agent without an outcome block is the text that it showed', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({ env: { CONTEXTRELAY_URL: server.url, TUI_MUTE: '1' } });
  const runner = new TmuxRunner({ ...terminal, profiles: SCRIPTED });
  await using _ = await startWorker(server, runner, { command });
  const answer = await new AgentBridge(client(server)).sendAndWait('a short one', { timeout: 60_000 });
  assert.match(answer.text.replace(/\s+/g, ''), new RegExp(`hash${sha256('a short one')}`));
  assert.equal((await client(server).peek(answer.url)).outcome, 'whole');
  assert.doesNotMatch(answer.text, /Welcome/, 'what stood there before');
});

test('an agent that draws only its frame has no output', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({ env: { CONTEXTRELAY_URL: server.url, TUI_SILENT: '1' } });
  const runner = new TmuxRunner({ ...terminal, profiles: SCRIPTED });
  await using _ = await startWorker(server, runner, { command });
  const answer = await new AgentBridge(client(server)).sendAndWait('a short one', { timeout: 60_000 });
  assert.deepEqual([answer.status, /gave no answer/.test(answer.text)], ['failed', true], answer.text);
});

test('an agent that dies during a task, or a missing session, gives a failed result', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({ env: { CONTEXTRELAY_URL: server.url, TUI_DIES: '1' } });
  await assert.rejects(
    new TmuxRunner({ ...terminal, session: 'nobody' }).open(),
    /agent_gone|cannot be reached/,
  );
  await using _ = await startWorker(server, new TmuxRunner({ ...terminal, profiles: SCRIPTED }), { command });
  const bridge = new AgentBridge(client(server));
  const answer = await bridge.sendAndWait('die', { timeout: 60_000 });
  assert.equal(answer.status, 'failed');
  const again = await bridge.sendAndWait('and again', { timeout: 60_000 });
  assert.equal(again.status, 'failed');
  assert.match(again.text, /cannot be reached/);
});

test('a program that does not accept pastes gets the task as one line', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({ command: lines(`echo "got: \${line%%(relay*}"`) });
  const runner = new TmuxRunner({ ...terminal, profiles: UNKNOWN });
  await using _ = await startWorker(server, runner, { command: 'relay' });
  const answer = await new AgentBridge(client(server)).sendAndWait('two\nlines', { timeout: 60_000 });
  assert.equal(answer.text.match(/got:/g)?.length, 1);
  assert.match(answer.text.replace(/\s+/g, ''), new RegExp(`relaypull"${server.url}/pull/${answer.id}"`));
});

test('the answer of an agent that echoes its task is kept, and an agent without output has failed', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({
    command: lines('case $n in "") n=1; echo "it is 42"; echo "$line";; esac'),
  });
  await using _ = await startWorker(server, new TmuxRunner({ ...terminal, profiles: UNKNOWN }));
  const bridge = new AgentBridge(client(server));
  const answer = await bridge.sendAndWait('what is it?', { timeout: 60_000 });
  assert.equal(answer.status, 'done', answer.text);
  assert.match(answer.text, /it is 42/);
  assert.equal((await client(server).peek(answer.url)).outcome, 'whole');
  const silence = await bridge.sendAndWait('and now?', { timeout: 60_000 });
  assert.equal(silence.status, 'failed');
  assert.match(silence.text, /gave no answer/);
  assert.equal((await client(server).peek(silence.url)).outcome, 'none');
});

test('an unknown program, or one busy with something else, is neither interrupted nor ended', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({ command: lines('echo "still here"') });
  await using other = await openTerminal({
    command: `echo 'esc to interrupt'; trap 'echo interrupted' INT; cat`,
  });
  const profiles = { mine: { command: 'sh|cat', busy: 'esc to interrupt', interrupt: 'C-c' } };
  const { tasks } = client(server);
  for (const [runner, name] of [
    [new TmuxRunner(terminal), 'unknown'],
    [new TmuxRunner({ ...other, profiles, profile: 'mine' }), 'busy'],
  ] as const) {
    await using under = await startWorker(server, runner, { name });
    const { id } = await new AgentBridge(client(server)).send('x', { to: name });
    if (name === 'unknown') await until(async () => (await terminal.screen()).includes('still here'));
    else await until(async () => (await tasks.get(id)).receipts.some(({ rung }) => rung === 'pulled'));
    await tasks.cancel(id);
    await until(() => under.events.some((event) => event.type === 'dropped'));
  }
  await terminal.tmux('send-keys', '-t', 'agent', 'once more', 'Enter');
  await until(async () => (await terminal.screen()).split('still here').length === 3);
  await other.tmux('send-keys', '-t', 'agent', 'once more', 'Enter');
  await until(async () => (await other.screen()).split('once more').length === 3);
  assert.doesNotMatch(await other.screen(), /interrupted/);
});

test('an agent with a known profile stops when its task is canceled', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({
    command: `trap 'echo stopped' INT; ${lines('echo "esc to interrupt"; sleep 600; clear; echo ready')}`,
  });
  const mine = { busy: 'esc to interrupt', interrupt: 'C-c' };
  const runner = new TmuxRunner({ ...terminal, profiles: { mine }, profile: 'mine' });
  await using _ = await startWorker(server, runner);
  const { id } = await new AgentBridge(client(server)).send('x');
  await until(async () => (await terminal.screen()).includes('esc to interrupt'));
  await client(server).tasks.cancel(id);
  await until(async () => (await terminal.screen()).includes('ready'));
});

test('the pasted command works in the environment of the terminal', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  // Runs the command in the task text. This terminal has another PATH than the bridge and no relay variables.
  const pull = `eval "$(printf '%s' "$line" | sed 's/.*Read it with: \\(.*\\) - then do it.*/\\1/')"`;
  await using terminal = await openTerminal({
    command: `unset RELAY_HOME CONTEXTRELAY_URL; export PATH=/usr/bin:/bin; ${lines(pull)}`,
    socketFolder: home,
  });
  await writeFile(join(home, 'agents.json'), JSON.stringify(UNKNOWN));
  await using bridge = startProgram(['bridge', 'start', '--tmux', terminal.session], {
    home,
    env: { TMUX_TMPDIR: home, RELAY_COMMAND: '' },
  });
  await bridge.line(/^[\d:]+ bridge /);
  const answer = await relay(['bridge', 'send', '--wait', 'the words of the task'], { home });
  assert.match(answer.stdout, /the words of the task/, answer.stderr);
});
