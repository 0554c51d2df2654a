import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { TmuxRunner } from '../../src/runners/tmux/tmux-runner.ts';
import { startTestServer } from '../channels/server.ts';
import { ENTRY, NODE } from '../cli/program.ts';
import { client, startWorker } from './bridge.ts';
import { SCRIPTED } from './scripted-profile.ts';
import { taskTexts } from './task-texts.ts';
import { openTerminal } from './terminal.ts';

test('50 tasks of one line to 200 KB reach an agent in a terminal intact, each with its own result', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({
    env: { CONTEXTRELAY_URL: server.url, TUI_DONE: 'command' },
  });
  const runner = new TmuxRunner({ ...terminal, profiles: SCRIPTED });
  await using _ = await startWorker(server, runner, { command: `${NODE} ${ENTRY}` });
  const bridge = new AgentBridge(client(server));
  const answers = await Promise.all(
    taskTexts(50).map(async (text) => {
      const answer = await bridge.sendAndWait(text, { timeout: 400_000 });
      return { text, answer };
    }),
  );
  for (const { text, answer } of answers) {
    assert.equal(answer.status, 'done', answer.text);
    assert.ok(answer.text.includes(createHash('sha256').update(text).digest('hex')), text.slice(0, 60));
  }
});
