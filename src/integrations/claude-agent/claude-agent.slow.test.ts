import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createSdkMcpServer, type Options, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { FakeModel, type Script } from '../../../test/clients/fake-model.ts';
import { installedClient } from '../../../test/clients/installed-clients.ts';
import { assertHandOver, QUESTION } from '../../../test/integrations/hand-over.ts';
import {
  assertReadInPart,
  embedded,
  LARGE_LOG,
  pointerIn,
  type Scene,
  startScene,
} from '../../../test/integrations/scene.ts';
import { ContextRelaySessionStore, contextRelayServer, largeResultHooks } from './index.ts';

/** Program that the framework runs. Other tests use the same installation of Claude Code. */
const client = installedClient('claude');
const skip = 'missing' in client ? client.missing : false;

let scene: Scene;
let home: string;
before(async () => {
  scene = await startScene();
  home = mkdtempSync(join(tmpdir(), 'relay-claude-agent-'));
});
after(async () => {
  await scene[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

interface Played {
  readonly words: string;
  readonly shown: readonly string[];
  readonly session: string;
  /** All text that was sent to the model. */
  readonly sent: string;
}

/** Runs a query with a scripted model. Returns the last text of the model and the tool results that it saw. */
async function play(prompt: string, script: Script, options: Options = {}): Promise<Played> {
  let shown: readonly string[] = [];
  await using model = new FakeModel((answers) => {
    shown = answers;
    return script(answers);
  });
  const url = await model.start();
  const messages = query({
    prompt,
    options: {
      pathToClaudeCodeExecutable: (client as { program: string }).program,
      cwd: home,
      settingSources: [],
      permissionMode: 'dontAsk',
      allowedTools: ['mcp__contextrelay', 'mcp__logs'],
      env: {
        PATH: process.env.PATH,
        HOME: home,
        CLAUDE_CONFIG_DIR: join(home, '.claude'),
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'sk-test',
        ENABLE_TOOL_SEARCH: 'false',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        MAX_MCP_OUTPUT_TOKENS: '10000000',
        CLAUDE_CODE_MAX_RETRIES: '0',
      },
      ...options,
      mcpServers: { contextrelay: contextRelayServer(scene.relay), ...options.mcpServers },
    },
  });
  let [words, session] = ['', ''];
  for await (const message of messages) {
    if (message.type === 'result' && 'result' in message) words = message.result;
    session = message.session_id ?? session;
  }
  return { words, shown, session, sent: model.requests.map(({ body }) => body).join('\n') };
}

test('an agent pushes a text, and another agent that gets the URL pulls it', { skip }, async () => {
  const written = await play('write it down', (answers) =>
    answers.length === 0
      ? { tool: 'push_context', args: { data: 'the findings' } }
      : { text: `See ${pointerIn(answers[0]!)}` },
  );
  const url = pointerIn(written.words);
  const read = await play(`read ${url}`, (answers) =>
    answers.length === 0 ? { tool: 'pull_context', args: { url } } : { text: `It says: ${answers[0]}` },
  );
  assert.match(read.words, /the findings/);
});

test('a tool result of a megabyte reaches the model as a pointer, and the model reads one line of it', {
  skip,
}, async () => {
  const readLog = tool('read_log', 'the log of today', {}, async () => ({
    content: [{ type: 'text', text: LARGE_LOG }],
  }));
  const { words, shown } = await play(
    'why was payment 4711 refused?',
    (answers) => {
      if (answers.length === 0) return { tool: 'read_log', args: {} };
      if (answers.length > 1) return { text: 'The card has expired.' };
      return { tool: 'pull_context', args: { url: pointerIn(answers[0]!), part: 'grep=payment .* refused' } };
    },
    {
      hooks: largeResultHooks(scene.relay),
      mcpServers: { logs: createSdkMcpServer({ name: 'logs', tools: [readLog] }) },
    },
  );
  assert.equal(words, 'The card has expired.');
  const texts = shown.map(
    (answer) => (answer.startsWith('[') ? JSON.parse(answer)[0].text : answer) as string,
  );
  assertReadInPart(texts[0]!.replaceAll('mcp__logs__', ''), texts[1]!);
});

test('a session is resumed from the relay on another machine', { skip }, async () => {
  const first = await play('My name is Ada.', () => ({ text: 'Hello Ada.' }), {
    sessionStore: new ContextRelaySessionStore(scene.relay),
  });
  const store = new ContextRelaySessionStore(embedded(scene.server));
  // Delete the program's own transcripts.
  rmSync(join(home, '.claude'), { recursive: true, force: true });
  const second = await play('Who am I?', () => ({ text: 'Ada.' }), {
    sessionStore: store,
    resume: first.session,
  });
  assert.ok(
    second.sent.includes('My name is Ada.') && second.sent.includes('Hello Ada.'),
    'the model is told again',
  );
});

test('the session store passes the contract tests of the framework', async () => {
  const store = new ContextRelaySessionStore(scene.relay, { space: 'contract' });
  const key = { projectKey: '-tmp-project', sessionId: 's1' };
  const sub = { ...key, subpath: 'subagents/agent-1' };
  assert.equal(await store.load(key), null);
  const entries = Array.from({ length: 30 }, (_, i) => ({ type: 'user', uuid: `u${i}`, text: `line ${i}` }));
  for (const entry of entries) await store.append(key, [entry]);
  await store.append(key, entries.slice(3, 6));
  await store.append(key, [{ type: 'title' }, { type: 'title' }]);
  await store.append(sub, [{ type: 'user', uuid: 'x' }]);
  assert.deepEqual(
    await store.load(key),
    [...entries, { type: 'title' }, { type: 'title' }],
    'in order, repeated ones once',
  );
  assert.deepEqual(await store.load(sub), [{ type: 'user', uuid: 'x' }]);
  assert.deepEqual(await store.listSubkeys(key), ['subagents/agent-1']);
  const [listed] = await store.listSessions('-tmp-project');
  assert.equal(listed!.sessionId, 's1');
  assert.ok(Number.isInteger(listed!.mtime) && listed!.mtime <= Date.now() + 1000);
  await store.delete(sub);
  assert.deepEqual(await store.listSubkeys(key), []);
  await store.delete(key);
  assert.deepEqual([await store.load(key), await store.listSessions('-tmp-project')], [null, []]);
});

test('a hand-over costs as many tokens as the page says', () =>
  assertHandOver('claude-agent', async (result, options) => {
    // Compare only the question and the tool result, because the whole prompt of Claude Code is much longer.
    const hook = largeResultHooks(scene.relay, options).PostToolUse![0]!.hooks[0]!;
    const before = { stdout: result, stderr: '' };
    const input = { hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_response: before };
    const output = await hook(input as never, 'id', { signal: new AbortController().signal });
    const { updatedToolOutput = before } =
      (output as { hookSpecificOutput?: { updatedToolOutput?: unknown } }).hookSpecificOutput ?? {};
    return [QUESTION, updatedToolOutput];
  }));
