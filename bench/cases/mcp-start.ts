import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Bench } from '../bench.ts';
import { benchExecutable } from '../command-line.ts';
import { plainEnv, temporaryFolder } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const HELLO = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
};

export default {
  name: 'mcp-start',
  claim: 'at most 2×',
  limit: 2,
  async run({ rounds }) {
    const executable = benchExecutable();
    if (executable === null) return { skipped: 'npm has no Bun for this platform' };
    using temporary = temporaryFolder();
    const home = temporary.path;
    const result: Round[] = [];
    for (let i = 0; i < rounds * 2; i++)
      result.push({ ours: await greeting(executable, home), baseline: await startBareNode(home) });
    // The first rounds fill the disk cache, so they do not count.
    return summarise(
      result.slice(3),
      'ms',
      'relay mcp, executable, until it has answered initialize; baseline: node -e 0',
    );
  },
} satisfies Bench;

async function greeting(executable: string, home: string): Promise<number> {
  const began = performance.now();
  const child = start(executable, ['mcp'], home);
  child.stdin.write(`${JSON.stringify(HELLO)}\n`);
  await once(child.stdout, 'data');
  const took = performance.now() - began;
  child.stdin.end();
  await once(child, 'exit');
  return took;
}

async function startBareNode(home: string): Promise<number> {
  const began = performance.now();
  await once(start(process.execPath, ['-e', '0'], home), 'exit');
  return performance.now() - began;
}

function start(program: string, args: string[], home: string) {
  return spawn(program, args, {
    env: { ...plainEnv(), RELAY_HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}
