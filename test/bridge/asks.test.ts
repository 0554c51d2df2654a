import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { generateFernetKey } from '../../src/formats/fernet.ts';
import { claudeStatus, claudeStatusFile } from '../../src/runners/tmux/profiles.ts';
import { TmuxRunner } from '../../src/runners/tmux/tmux-runner.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { startTestServer } from '../channels/server.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { until } from '../until.ts';
import { agent, client, startWorker } from './bridge.ts';
import { SCRIPTED } from './scripted-profile.ts';
import { openTerminal } from './terminal.ts';

test('a task whose agent asks a person stays open and shows the question until somebody answers', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({ env: { TUI_ASKS: 'task' } });
  const { worker, events, ...under } = await startWorker(
    server,
    new TmuxRunner({ ...terminal, profiles: SCRIPTED }),
    { pointer: false },
  );
  await using _ = under;
  const { tasks, agents } = client(server);
  const bridge = new AgentBridge(client(server));
  const { id } = await bridge.send('clean up');
  await until(async () => (await tasks.get(id)).stuck !== null);
  const stuckReason =
    'The agent in tmux agent waits for an answer: Bash command: rm -r build Do you want to proceed?';
  const { state, stuck, agent } = await tasks.get(id);
  assert.deepEqual({ state, stuck, agent }, { state: 'running', stuck: stuckReason, agent: worker.name });
  const [asking] = (await agents.list()).agents;
  assert.deepEqual(
    [asking!.state, asking!.alive, asking!.bridge!.stuck],
    ['stuck', true, { [id]: stuckReason }],
  );
  await terminal.tmux('send-keys', '-t', 'agent', 'Enter');
  const answer = await bridge.wait(id, { timeout: 60_000 });
  assert.equal(answer.status, 'done', answer.text);
  assert.match(answer.text, /COMPLETED: sha256/);
  assert.equal((await client(server).peek(answer.url)).outcome, 'block');
  assert.equal((await tasks.get(id)).stuck, null);
  await until(async () => (await agents.list()).agents[0]!.state === 'idle');
  const reasons = events.flatMap((event) => (event.type === 'stuck' ? [event.why] : []));
  assert.deepEqual(reasons, [stuckReason, null]);
});

test('nothing is typed into a dialog that was open before the task arrived', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({ env: { TUI_ASKS: 'start' } });
  await until(async () => (await terminal.screen()).includes('Esc to cancel'));
  const runner = new TmuxRunner({ ...terminal, profiles: SCRIPTED });
  await using _ = await startWorker(server, runner, { pointer: false });
  const bridge = new AgentBridge(client(server));
  const { id } = await bridge.send('hello');
  await until(async () => (await client(server).tasks.get(id)).stuck !== null);
  assert.match((await client(server).tasks.get(id)).stuck!, /Do you trust this folder\?/);
  assert.match(await terminal.screen(), /Esc to cancel/, 'nobody has answered it');
  await terminal.tmux('send-keys', '-t', 'agent', 'Enter');
  assert.equal((await bridge.wait(id, { timeout: 60_000 })).status, 'done');
});

test('the question of an encrypted task is not sent to the relay', async () => {
  await using server = await startTestServer();
  const channelKeys = { 'agent-tasks': generateFernetKey(systemEnv) };
  const member = new ContextRelay({ baseUrl: server.url, channelKeys });
  const asking = agent(async ({ stuck, signal }) => {
    stuck?.({ why: 'It waits for an answer', asked: 'May I use the secret word?' });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { output: '' };
  });
  const bridge = new AgentBridge(member, { runner: asking });
  await using _ = await bridge.start();
  const why = async (encrypted: boolean) => {
    const { id } = await bridge.send('the secret word is plover', { encrypted });
    await until(async () => (await member.tasks.get(id)).stuck !== null);
    const { stuck } = await member.tasks.get(id);
    await member.tasks.cancel(id);
    return stuck;
  };
  assert.equal(await why(true), 'It waits for an answer.');
  assert.equal(await why(false), 'It waits for an answer: May I use the secret word?');
});

test('the state of Claude Code is read from the status file of the session in the terminal', async () => {
  using folder = new ScratchFolder();
  await using terminal = await openTerminal({ command: 'cat' });
  const about = await terminal.tmux('display-message', '-p', '-t', 'agent', '#{pane_pid} #{pane_tty}');
  const [pid, tty] = about.trim().split(' ') as [string, string];
  const write = (name: string, session: object) =>
    folder.write(`sessions/${name}.json`, JSON.stringify(session));
  const env = { CLAUDE_CONFIG_DIR: folder.path };
  write('1', { kind: 'interactive', status: 'busy' });
  assert.equal(await claudeStatusFile(tty, env), null, 'a session somewhere else');
  write(pid, { kind: 'interactive', status: 'waiting', waitingFor: 'input needed' });
  const file = (await claudeStatusFile(tty, env))!;
  assert.deepEqual(await claudeStatus(file), { state: 'asks', asked: 'input needed' });
  for (const [status, state] of [
    ['idle', 'ready'],
    ['busy', 'busy'],
  ]) {
    write(pid, { kind: 'interactive', status });
    assert.deepEqual(await claudeStatus(file), { state });
  }
  write(pid, { kind: 'interactive', status: 'a new one' });
  assert.equal(await claudeStatus(file), null);
});
