import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { cleanEnv, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';

const PROGRAM = join(import.meta.dirname, '../../dist/cli/contextrelay-mcp.js');
const home = temporaryHome();
after(() => home[Symbol.dispose]());

/** A client that starts ten servers, sends each a request, and is then killed without closing them. */
const CLIENT = `
  import { spawn } from 'node:child_process';
  const say = (child, id, method, params) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\\n');
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'rude', version: '1' } };
  const started = Array.from({ length: 10 }, (_, at) => {
    const child = spawn(process.execPath, [process.argv[1]], { stdio: ['pipe', 'pipe', 'ignore'] });
    say(child, 1, 'initialize', hello);
    // When the client is killed, some servers have only started, some have an open store, and some wait for a result.
    if (at % 3 > 0) say(child, 2, 'tools/call', { name: 'push_context', arguments: { data: 'left behind' } });
    if (at % 3 > 1) say(child, 3, 'tools/call', { name: 'bridge_task', arguments: { task: 'left behind' } });
    return new Promise((answered) => child.stdout.once('data', () => answered(child.pid)));
  });
  console.log(JSON.stringify(await Promise.all(started)));
  setInterval(() => {}, 1000);
`;

test('a hundred servers whose clients were killed leave no process behind', async (t) => {
  if (!existsSync(PROGRAM)) return t.skip('there is no build: npm run build');
  const pids: number[] = [];
  for (let round = 0; round < 10; round++) pids.push(...(await abandonTen()));
  assert.equal(new Set(pids).size, 100);
  await until(() => !pids.some(isAlive), { everyMs: 100 });
});

async function abandonTen(): Promise<number[]> {
  const client = spawn(process.execPath, ['--input-type=module', '-e', CLIENT, PROGRAM], {
    env: cleanEnv({ home: home.home }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const chunk of client.stdout) {
    output += chunk;
    if (output.includes('\n')) break;
  }
  client.kill('SIGKILL');
  return JSON.parse(output) as number[];
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
