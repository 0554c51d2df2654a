import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AgentMessage } from '../../src/contract/agents.ts';
import { cleanEnv, ENTRY, NODE } from '../cli/program.ts';

/** Many agents as processes, which are killed at random moments. */

function scratch(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'relay-many-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 10 }) };
}

const pause = (ms: number) => new Promise((go) => setTimeout(go, ms));

test('32 processes claim 500 todos: each is held by one at a time, none is lost, lapsed claims come back', async (t) => {
  using folder = scratch();
  const log = join(folder.path, 'log');
  writeFileSync(log, '');
  const [home, worker] = [join(folder.path, 'home'), join(import.meta.dirname, 'claim-worker.ts')];
  const ended = async (name: string): Promise<number> => {
    for (let kills = 0; ; kills++) {
      const child = spawn(NODE, [worker, home, name, '500', log], { stdio: ['ignore', 'ignore', 'inherit'] });
      const signal = await new Promise((done) => child.on('close', (_, by) => done(by)));
      if (signal === null) return child.exitCode === 0 ? kills : assert.fail(`${name} failed`);
    }
  };
  const names = Array.from({ length: 32 }, (_, index) => `agent-${index}`);
  const kills = (await Promise.all(names.map(ended))).reduce((a, b) => a + b);
  const lines = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const done = lines.flatMap((line) => (line.done ? [line.done] : []));
  assert.deepEqual([done.length, new Set(done).size], [500, 500]);
  const claims = new Map<string, { agent: string; until: number; released?: number }>();
  let lapsed = 0;
  for (const line of lines.toSorted((a, b) => a.at - b.at)) {
    const before = claims.get(line.claimed);
    if (line.claimed) {
      const free = before === undefined || (before.released ?? before.until) <= line.at;
      assert.ok(free, `${line.claimed} is claimed by ${line.agent} while ${before?.agent} holds it`);
      if (before !== undefined && before.released === undefined) lapsed++;
      claims.set(line.claimed, line);
    }
    const claim = claims.get(line.released);
    if (line.released && claim?.agent === line.agent)
      claims.set(line.released, { ...claim!, released: line.at });
  }
  t.diagnostic(`${kills} processes killed, ${lapsed} lapsed claims taken again`);
  assert.ok(lapsed > 0);
});

test('1 000 messages between 10 agents with random kills: none is lost, and receipts agree with the models', async (t) => {
  using folder = scratch();
  const deliveries = new Map<string, number>();
  const model = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    for (const id of JSON.parse(body).ids) deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
    response.writeHead(204).end();
  });
  await new Promise<void>((done) => model.listen(0, '127.0.0.1', done));
  const modelUrl = `http://127.0.0.1:${(model.address() as { port: number }).port}`;
  const port = String(20_000 + (process.pid % 20_000));
  const relayUrl = `http://127.0.0.1:${port}`;
  const env = cleanEnv({ home: join(folder.path, 'home') });
  const names = Array.from({ length: 10 }, (_, index) => `agent-${index}`);
  const logs = names.map((name) => join(folder.path, name));
  const worker = join(import.meta.dirname, 'message-worker.mjs');
  const start = (args: readonly string[]) =>
    spawn(NODE, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const startAgent = (index: number) =>
    start([worker, relayUrl, modelUrl, names[index]!, '10', '100', logs[index]!]);
  const startRelay = () => start([ENTRY, 'up', '--port', port]);
  let relay = startRelay();
  const agents = names.map((_, index) => startAgent(index));
  let kills = 0;
  const restart = async (child: ChildProcess) => {
    child.kill('SIGKILL');
    await new Promise((done) =>
      (child.exitCode ?? child.signalCode) !== null ? done(0) : child.on('exit', done),
    );
    kills++;
  };
  const sentMessages = () =>
    logs.flatMap((log) => {
      try {
        return readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map((line): AgentMessage => JSON.parse(line));
      } catch {
        return [];
      }
    });
  try {
    for (let round = 0; sentMessages().length < 1_000; round++) {
      await pause(1_500);
      const index = Math.floor(Math.random() * 10);
      await restart(agents[index]!);
      agents[index] = startAgent(index);
      if (round % 5 === 2) {
        await restart(relay);
        relay = startRelay();
      }
    }
    const all = new Map(sentMessages().map((message) => [message.id, message]));
    assert.equal(all.size, 1_000);
    for (let tries = 0; tries < 1_200 && deliveries.size < 1_000; tries++) await pause(250);
    const lost = [...all.keys()].filter((id) => !deliveries.has(id));
    assert.deepEqual(lost, []);
    const receipt = async ({ conversation }: AgentMessage) => {
      const answer = await fetch(`${relayUrl}/conversations/${conversation}`);
      return ((await answer.json()) as { messages: AgentMessage[] }).messages[0]!;
    };
    for (const message of all.values()) {
      let state = (await receipt(message)).state;
      for (let tries = 0; tries < 300 && state !== 'shown'; tries++) {
        await pause(250);
        state = (await receipt(message)).state;
      }
      assert.equal(state, 'shown', message.id);
    }
    const twice = [...deliveries.values()].filter((count) => count > 1).length;
    t.diagnostic(`${kills} kills, ${twice} messages shown more than once, with the same id`);
    assert.ok(twice <= kills * 10, 'a message is shown twice only after a kill');
  } finally {
    for (const child of [...agents, relay]) child.kill('SIGKILL');
    model.close();
  }
});
