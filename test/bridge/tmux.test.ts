import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { TmuxRunner } from '../../src/runners/tmux/tmux-runner.ts';
import { startTestServer } from '../channels/server.ts';
import { ENTRY } from '../cli/program.ts';
import { client, startWorker } from './bridge.ts';
import { SCRIPTED } from './scripted-profile.ts';
import { taskTexts } from './task-texts.ts';
import { openTerminal } from './terminal.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const command = `${process.execPath} ${ENTRY}`;
for (const [how, tasks] of [
  ['screen', 4],
  ['command', 2],
] as const) {
  test(`tasks reach an agent in a terminal whole, and come back by ${how}`, async () => {
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

test('an agent without an outcome gives back what it showed', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({ env: { CONTEXTRELAY_URL: server.url, TUI_MUTE: '1' } });
  const runner = new TmuxRunner({ ...terminal, profiles: { claude: { ...SCRIPTED.claude, quiet_ms: 800 } } });
  await using _ = await startWorker(server, runner, { command });
  const answer = await new AgentBridge(client(server)).sendAndWait('a short one', { timeout: 60_000 });
  assert.match(answer.text.replace(/\s+/g, ''), new RegExp(`hash${sha256('a short one')}`));
  assert.equal((await client(server).peek(answer.url)).outcome, 'whole');
});

test('an agent that dies in the middle, and a session that is not there, are failures and no silence', async () => {
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

test('a program that takes no pastes gets one line', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({
    command: `while read -r line; do echo "got: \${line%%(relay*}"; done`,
  });
  const runner = new TmuxRunner({ ...terminal, profiles: { other: { settle_ms: 300, quiet_ms: 600 } } });
  await using _ = await startWorker(server, runner, { command: 'relay' });
  const answer = await new AgentBridge(client(server)).sendAndWait('two\nlines', { timeout: 60_000 });
  assert.equal(answer.text.match(/got:/g)?.length, 1);
  assert.match(answer.text.replace(/\s+/g, ''), new RegExp(`relaypull"${server.url}/pull/${answer.id}"`));
});
