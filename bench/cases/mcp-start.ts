import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { benchFolder, plainEnv, RELAY } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const HELLO = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
};

export default {
  name: 'mcp-start',
  claim: 'at most 4×',
  limit: 4,
  async run({ rounds }) {
    const home = benchFolder();
    try {
      const result: Round[] = [];
      for (let i = 0; i < rounds * 2; i++)
        result.push({ ours: await greeting(home), baseline: await bare(home) });
      // The first few fill the caches of the disk.
      return summarise(
        result.slice(3),
        'ms',
        'contextrelay-mcp, as built, until it has answered initialize; bare Node: node -e 0',
      );
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
} satisfies Bench;

async function greeting(home: string): Promise<number> {
  const began = performance.now();
  const child = start([join(RELAY, '..', 'contextrelay-mcp.js')], home);
  child.stdin.write(`${JSON.stringify(HELLO)}\n`);
  await once(child.stdout, 'data');
  const took = performance.now() - began;
  child.stdin.end();
  await once(child, 'exit');
  return took;
}

async function bare(home: string): Promise<number> {
  const began = performance.now();
  await once(start(['-e', '0'], home), 'exit');
  return performance.now() - began;
}

function start(args: string[], home: string) {
  return spawn(process.execPath, args, {
    env: { ...plainEnv(), RELAY_HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}
