import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openKeyring } from '../../src/app/store/keyring.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { parsePointer } from '../../src/contract/pointer-url.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type ProgramUnderTest, startProgram } from '../bridge/processes.ts';
import { runHere } from '../cli/in-process.ts';
import { type Ran, temporaryHome } from '../cli/program.ts';
import { overStdio } from '../mcp/clients.ts';

/** A secret text in every payload, in a file name and in the agent's output. */
const CANARY = 'canary7f3e9b';
const CHANNELS = ['agent-tasks', 'agent-done', 'notes'];
/** A fake agent: prints the task. If the task contains `fail`, the agent also prints the task on stderr and fails. */
const PARROT = 'read -r said; echo "$said"; case "$said" in *fail*) echo "$said" >&2; exit 3;; esac';

const place = temporaryHome();
const { home } = place;
const env: { [name: string]: string } = {};
let server: ProgramUnderTest;
let bridge: ProgramUnderTest;
const channelKeys = (channel: string) => openKeyring(home).get(channel);
const relay = (args: readonly string[], stdin?: string): Promise<Ran> => runHere(args, { home, env, stdin });

async function stdoutOf(args: readonly string[], stdin?: string): Promise<string> {
  const ran = await relay(args, stdin);
  assert.equal(ran.code, 0, ran.stderr);
  return ran.stdout.trim();
}

before(async () => {
  writeFileSync(join(home, 'config.json'), JSON.stringify({ log_requests: true }));
  for (const channel of CHANNELS) await stdoutOf(['channel', 'key', 'new', channel]);
  server = startProgram(['up', '--port', '0'], { home, env: { RELAY_DEBUG: '1' } });
  env.CONTEXTRELAY_URL = /http:\S+/.exec(await server.line(/listening on/))![0];
  bridge = startProgram(['bridge', 'start', '--exec', PARROT, '--encrypt', '--name', 'parrot'], {
    home,
    env,
  });
  await bridge.line(/tasks from/);
});
after(async () => {
  await bridge?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

function* files(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

/** Uses every feature that encrypts, with the canary in the plain text. Returns pointers and tasks. */
async function encryptEverything(): Promise<{ pointers: string[]; tasks: string[] }> {
  const secretText = `${CANARY} is the first line\nand this the second`;
  using elsewhere = temporaryHome();
  const file = join(elsewhere.home, `${CANARY}.md`);
  writeFileSync(file, `# ${secretText}`);
  const client = new ContextRelay({ baseUrl: env.CONTEXTRELAY_URL, channelKeys });
  await using mcp = await overStdio(home, '2025-11-25', { env });
  const pointers = [
    await stdoutOf(['push', '--encrypt', '--count', '--channel', 'notes'], secretText),
    await stdoutOf(['push', '--encrypt', file]),
    await mcp.call('push_context', { data: secretText, encrypted: true, channel: 'notes' }),
    await client.push(secretText, {
      encrypted: true,
      channel: 'notes',
      count: true,
      contentType: `text/${CANARY}`,
    }),
    await client.push(new File([secretText], CANARY, { type: `text/${CANARY}` }), { encrypted: true }),
  ];
  for (const url of pointers) assert.match(await stdoutOf(['pull', url]), new RegExp(CANARY));
  for (const url of pointers) await stdoutOf(['pull', url, '--cost']);

  const answer = await stdoutOf(['bridge', 'send', secretText, '--encrypt', '--wait']);
  assert.match(answer, new RegExp(CANARY));
  const failed = await relay(['bridge', 'send', `fail: ${secretText}`, '--encrypt', '--wait', '--json']);
  assert.equal(JSON.parse(failed.stdout).status, 'failed');
  assert.match(JSON.parse(failed.stdout).text, new RegExp(CANARY));
  const result = await new AgentBridge(client).sendAndWait(secretText, { encrypted: true });
  assert.match(result.text, new RegExp(CANARY));
  // The channel `notes` has no bridge, so commands deliver the results.
  const flags = ['--task-channel', 'notes', '--encrypt'];
  const [one, two] = [
    await stdoutOf(['bridge', 'send', secretText, ...flags]),
    await stdoutOf(['bridge', 'send', secretText, ...flags]),
  ];
  await stdoutOf(['task', 'done', one, secretText, '--encrypt']);
  await stdoutOf(['task', 'fail', two, secretText, '--encrypt']);
  assert.match(await stdoutOf(['task', 'wait', one]), new RegExp(CANARY));
  return { pointers, tasks: [JSON.parse(failed.stdout).id, result.id, one, two] };
}

test('with encryption on, nothing derived from a payload is in plain text', async () => {
  const { pointers, tasks } = await encryptEverything();
  const textByPlace: { [where: string]: string } = {};
  const get = async (path: string) => {
    const response = await fetch(env.CONTEXTRELAY_URL + path);
    textByPlace[path] = JSON.stringify([...response.headers]) + (await response.text());
    return textByPlace[path];
  };
  const list = await get('/tasks?limit=50');
  await get('/tasks?channel=notes');
  const results = [...list.matchAll(/pull\/([0-9a-f-]{36})/g)].map(([, id]) => id!);
  const ids = new Set([...results, ...tasks, ...pointers.map((url) => parsePointer(url).id)]);
  for (const id of ids) {
    await get(`/peek/${id}`);
    await get(`/pull/${id}/receipts`);
  }
  for (const id of tasks) await get(`/tasks/${id}`);
  for (const path of ['/agents', '/channels', '/metrics', '/stats', '/usage']) await get(path);
  const stranger = new ContextRelay({ baseUrl: env.CONTEXTRELAY_URL });
  for (const channel of CHANNELS) {
    const last = await stranger.channels.position(channel);
    for await (const message of stranger.subscribe(channel, { since: 'all' })) {
      textByPlace[`${channel} ${message.seq}`] = JSON.stringify(message);
      if (message.seq >= last) break;
    }
  }
  for (const args of [['task', 'list'], ['task', 'list', '-c', 'notes'], ['agents']])
    textByPlace[args.join(' ')] = await stdoutOf(args);
  const { CONTEXTRELAY_URL: _, ...local } = env;
  using elsewhere = temporaryHome();
  const backup = await runHere(['backup', join(elsewhere.home, 'copy')], { home, env: local });
  assert.equal(backup.code, 0, backup.stderr);

  for (const program of [bridge, server]) program.child.kill('SIGTERM');
  const [bridgeSaid, serverSaid] = await Promise.all([bridge.ended, server.ended]);
  textByPlace.bridge = bridgeSaid.stdout + bridgeSaid.stderr;
  textByPlace.server = serverSaid.stdout + serverSaid.stderr;
  assert.match(textByPlace.bridge, /failed/);
  assert.match(textByPlace.server, /pointers\.push/);

  const holding = Object.entries(textByPlace).filter(([, text]) => text.includes(CANARY));
  assert.deepEqual(holding, []);
  const stored = [...files(home), ...files(elsewhere.home)];
  assert.ok(stored.some((path) => path.endsWith('relay.db')));
  assert.deepEqual(
    stored.filter((path) => readFileSync(path).includes(CANARY)),
    [],
  );
});
