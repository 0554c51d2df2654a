import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { agent, client, startWorker } from '../bridge/bridge.ts';
import { startProgram } from '../bridge/processes.ts';
import { startTestServer } from '../channels/server.ts';
import { relay, temporaryHome } from '../cli/program.ts';

test('a step can be done by an agent behind a bridge, at an A2A address, or by a capability', async () => {
  using at = temporaryHome();
  const { home } = at;
  await using server = startProgram(['up', '--port', '0'], { home });
  const url = /http:\S+/.exec(await server.line(/listening on http/))![0];
  await using bridge = startProgram(
    ['bridge', 'start', '--exec', 'head -n 1 | tr a-z A-Z', '--name', 'shouter', '--url', url],
    { home },
  );
  await bridge.line(/shouter/);
  const yaml = `agents:
  say: { shell: true }
  bridged: { bridge: agent-tasks, to: shouter }
  elsewhere: { a2a: "${url}" }
  search: { capability: retrieval.search, args: { query: teapot } }
steps:
  - { id: first, agent: say, prompt: echo a teapot story }
  - { id: shout, agent: bridged, prompt: "shout {{ steps.first.output }}" }
  - { id: again, agent: elsewhere, prompt: "once more {{ steps.shout.output }}" }
  - { id: found, agent: search, needs: [first] }
`;
  writeFileSync(join(home, 'agents.yaml'), yaml);
  const ran = await relay(['pipeline', 'run', 'agents.yaml', '--url', url, '--json'], { home });
  assert.equal(ran.code, 0, ran.stderr + ran.stdout);
  const { run, steps } = JSON.parse(ran.stdout);
  const text = async (id: string) => {
    const { ref } = steps.find(({ step }: { step: string }) => step === id);
    return (await relay(['artifact', 'get', ref, '--thread', run], { home })).stdout.trim();
  };
  assert.equal(await text('shout'), 'SHOUT A TEAPOT STORY');
  assert.equal(await text('again'), 'ONCE MORE SHOUT A TEAPOT STORY');
  assert.match(await text('found'), /teapot/);
  const { prompts } = JSON.parse((await relay(['stats', run, '--json'], { home })).stdout);
  assert.equal(
    prompts.prompts,
    2,
    'what other agents were given are prompts, shells and capabilities are none',
  );
});

test('a step that times out stops its agent behind the bridge', async () => {
  using at = temporaryHome();
  const { home } = at;
  await using server = await startTestServer();
  const stopped = Promise.withResolvers<void>();
  const endless = agent(
    ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          stopped.resolve();
          resolve({ output: '' });
        });
      }),
  );
  await using _ = await startWorker(server, endless);
  const yaml = `agents: { bridged: { bridge: agent-tasks } }
steps: [{ id: long, agent: bridged, prompt: go on, timeout: 2s }]
`;
  writeFileSync(join(home, 'long.yaml'), yaml);
  const ran = await relay(['pipeline', 'run', 'long.yaml', '--url', server.url], { home });
  assert.equal(ran.code, 1, ran.stderr);
  await stopped.promise;
  const { tasks } = await client(server).tasks.list();
  assert.deepEqual(
    tasks.map(({ state, result }) => [state, result?.summary]),
    [['canceled', 'Canceled by local: step long took too long']],
  );
});
