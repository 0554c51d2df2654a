import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { TmuxRunner } from '../../src/runners/tmux/tmux-runner.ts';
import { startTestServer } from '../channels/server.ts';
import { relay } from '../cli/program.ts';
import { FakeModel } from '../clients/fake-model.ts';
import { type ClientName, installedClient } from '../clients/installed-clients.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { until } from '../until.ts';
import { block, client, startWorker } from './bridge.ts';
import { SCRIPTED } from './scripted-profile.ts';
import { openTerminal } from './terminal.ts';

/** Real clients from npm in a terminal, with a fake model that makes them ask for permission. */

const COMMAND = 'touch made-by-the-agent';

interface Setup {
  /** The tool that runs a command. The client asks a person before it runs the tool with `args`. */
  readonly tool: string;
  readonly args: object;
  /** Pattern of the question in the client's dialog. */
  readonly question: RegExp;
  /** Prepares the client's home and returns its arguments and environment. */
  prepare(o: { folder: ScratchFolder; model: string }): {
    args: string;
    env: { [name: string]: string };
  };
}

/** OpenCode is missing, because the tmux runner has no profile for it. */
type Asking = Exclude<ClientName, 'opencode'>;

const CLIENTS: { readonly [name in Asking]: Setup } = {
  claude: {
    tool: 'Bash',
    args: { command: COMMAND, description: 'Make a file' },
    question: /touch made-by-the-agent.*Do you want to proceed\?/,
    prepare({ folder, model }) {
      const settings = {
        hasCompletedOnboarding: true,
        customApiKeyResponses: { approved: ['sk-test'], rejected: [] },
        projects: { [folder.path]: { hasTrustDialogAccepted: true } },
      };
      folder.write('../home/.claude.json', JSON.stringify(settings));
      return {
        args: '--permission-mode default',
        env: {
          ANTHROPIC_BASE_URL: model,
          ANTHROPIC_API_KEY: 'sk-test',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_AUTOUPDATER: '1',
        },
      };
    },
  },
  codex: {
    tool: 'exec_command',
    args: { cmd: COMMAND, sandbox_permissions: 'require_escalated', justification: 'The task wants it' },
    question: /Would you like to run the following command\?.*touch made-by-the-agent/,
    prepare({ folder, model }) {
      mkdirSync(join(folder.home, '.codex'));
      const config = [
        'model_provider = "fake"',
        'model = "fake"',
        'check_for_update_on_startup = false',
        '[model_providers.fake]',
        `name = "fake"\nbase_url = "${model}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"`,
        `[projects."${folder.path}"]`,
        'trust_level = "trusted"',
      ];
      folder.write('../home/.codex/config.toml', `${config.join('\n')}\n`);
      return {
        args: '--disable daemon_auto_start',
        env: { OPENAI_API_KEY: 'x', CODEX_HOME: join(folder.home, '.codex') },
      };
    },
  },
  gemini: {
    tool: 'run_shell_command',
    args: { command: COMMAND, description: 'Make a file' },
    question: /touch made-by-the-agent.*Allow execution of/,
    prepare({ folder, model }) {
      const user = (name: string, value: unknown) =>
        folder.write(`../home/.gemini/${name}`, JSON.stringify(value));
      user('settings.json', { security: { auth: { selectedType: 'gemini-api-key' } } });
      user('trustedFolders.json', { [folder.path]: 'TRUST_FOLDER' });
      return { args: '-m gemini-2.5-pro', env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'x' } };
    },
  },
};

/**
 * Sends a task whose command needs a permission, and grants the permission after `afterMs`. Returns the text and the
 * outcome of the result.
 */
async function answeredByAPerson(
  t: TestContext,
  name: Asking,
  o: { readonly finalText: string; readonly afterMs: number },
): Promise<{ text: string; outcome: unknown } | null> {
  const found = installedClient(name);
  if ('missing' in found) {
    t.skip(found.missing);
    return null;
  }
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  const { tool, args, question, prepare } = CLIENTS[name];
  await using model = new FakeModel(
    (answers) => (answers.length === 0 ? { tool, args } : { text: o.finalText }),
    tool,
  );
  const setup = prepare({ folder, model: await model.start() });
  await using terminal = await openTerminal({
    command: `cd '${folder.path}' && exec '${found.program}' ${setup.args}`,
    env: { HOME: folder.home, ...setup.env },
  });
  await until(async () => (await terminal.screen()).trim() !== '');
  await using server = await startTestServer();
  const states = { CLAUDE_CONFIG_DIR: join(folder.home, '.claude') };
  const runner = new TmuxRunner({ ...terminal, env: states, stuckAfter: 30_000 });
  await using _ = await startWorker(server, runner, { name, timeout: 300_000 });
  const bridge = new AgentBridge(client(server));
  const { tasks, agents } = client(server);
  const { id } = await bridge.send('Make the file.');

  // Poll: a client may report in its status file that it asks a person, and show the question on its screen only
  // later.
  await until(async () => {
    const { stuck, result } = await tasks.get(id);
    return question.test(stuck ?? '') || result !== null;
  });
  const open = await tasks.get(id);
  assert.deepEqual([open.state, open.result], ['running', null], await terminal.screen());
  assert.match(open.stuck!, question, `${open.stuck}\n${await terminal.screen()}`);
  assert.equal((await agents.list()).agents[0]!.state, 'stuck');
  const env = { CONTEXTRELAY_URL: server.url };
  for (const command of [['task', 'show', id], ['agents']])
    assert.match((await relay(command, { home: folder.home, env })).stdout.replace(/\s+/g, ' '), question);

  await sleep(o.afterMs);
  const before = await tasks.get(id);
  assert.equal(before.state, 'running', 'nobody has answered yet');
  // Match again instead of comparing texts: the client may have drawn more of its dialog in the meantime.
  assert.match(before.stuck!, question);
  assert.ok(!model.requests.some(({ body }) => body.includes(o.finalText)));

  await terminal.tmux('send-keys', '-t', terminal.session, 'Enter');
  const answer = await bridge.wait(id, { timeout: 120_000 });
  assert.equal(answer.status, 'done', answer.text);
  assert.doesNotThrow(() => folder.read('made-by-the-agent'), 'the command ran');
  assert.equal((await tasks.get(id)).stuck, null);
  assert.equal((await agents.list()).agents[0]!.state, 'idle');
  return { text: answer.text, outcome: (await client(server).peek(answer.url)).outcome };
}

test('Claude Code asks in its terminal, a person answers after a minute, and the outcome is the result', async (t) => {
  const finalText = `The file is there.\n\n${block('made the file')}`;
  const answer = await answeredByAPerson(t, 'claude', { finalText, afterMs: 60_000 });
  if (!answer) return;
  assert.equal(answer.outcome, 'block');
  assert.match(answer.text, /COMPLETED: made the file/);
});

test('Codex asks in its terminal, a person answers, and the last output is the result', async (t) => {
  const answer = await answeredByAPerson(t, 'codex', { finalText: 'The file is there now.', afterMs: 3_000 });
  if (!answer) return;
  assert.equal(answer.outcome, 'whole');
  assert.match(answer.text, /The file is there now\./);
});

test('Gemini CLI asks in its terminal, a person answers, and the last output is the result', async (t) => {
  const answer = await answeredByAPerson(t, 'gemini', {
    finalText: 'The file is there now.',
    afterMs: 3_000,
  });
  if (!answer) return;
  assert.equal(answer.outcome, 'whole');
  assert.match(answer.text, /The file is there now\./);
});

test('a task whose screen does not change is stuck but not ended; at the timeout it fails with its output', async () => {
  await using server = await startTestServer();
  await using terminal = await openTerminal({ env: { TUI_FREEZES: '1' } });
  const runner = new TmuxRunner({ ...terminal, profiles: SCRIPTED, stuckAfter: 500 });
  await using _ = await startWorker(server, runner, { pointer: false, timeout: 10_000 });
  const bridge = new AgentBridge(client(server));
  const { id } = await bridge.send('half of it');
  await until(async () => /half of the answer/.test(await terminal.screen()));
  await until(async () => (await client(server).tasks.get(id)).stuck !== null);
  assert.equal(
    (await client(server).tasks.get(id)).stuck,
    'The screen of tmux agent has not changed for 0.5 s.',
  );
  const answer = await bridge.wait(id, { timeout: 60_000 });
  assert.equal(answer.status, 'failed');
  assert.match(answer.text, /took longer than 10 s[\s\S]*half of the answer/);
  assert.equal((await client(server).peek(answer.url)).outcome, 'whole');
});
