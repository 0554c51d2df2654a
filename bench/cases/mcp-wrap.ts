import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Bench } from '../bench.ts';
import { plainEnv, RELAY, ROOT, temporaryFolder } from '../servers.ts';
import { median } from '../statistics.ts';

const BUDGET_MS = 2;
const SERVER = join(ROOT, 'test/mcp/wrap/fixture-server.ts');
const WARMUPS = 50;

/** Time that `relay mcp wrap` adds to a small call. The result of the call is short, so nothing is stored. */
export default {
  name: 'mcp-wrap',
  claim: `at most ${BUDGET_MS} ms`,
  limit: 1,
  async run({ rounds }) {
    using temporary = temporaryFolder();
    const home = temporary.path;
    const env = { ...(plainEnv() as Record<string, string>), RELAY_HOME: home };
    const connect = async (...args: string[]) => {
      const client = new Client({ name: 'bench', version: '1' });
      await client.connect(new StdioClientTransport({ command: process.execPath, args, env }));
      await client.listTools();
      return client;
    };
    const time = async (client: Client) => {
      const began = performance.now();
      await client.callTool({ name: 'quote', arguments: { text: 'hello' } });
      return performance.now() - began;
    };
    const direct = await connect(SERVER);
    const wrapped = await connect(RELAY, 'mcp', 'wrap', '--', process.execPath, SERVER);
    const [alone, behind]: [number[], number[]] = [[], []];
    for (let round = -WARMUPS; round < rounds * 10; round++) {
      const pair = [await time(direct), await time(wrapped)] as const;
      if (round < 0) continue;
      alone.push(pair[0]);
      behind.push(pair[1]);
    }
    await Promise.all([direct.close(), wrapped.close()]);
    const added = median(behind) - median(alone);
    return {
      measured: added,
      baseline: BUDGET_MS,
      unit: 'ms',
      ratio: added / BUDGET_MS,
      detail: `relay mcp wrap, added to a call that takes ${median(alone).toFixed(2)} ms; baseline: the budget`,
    };
  },
} satisfies Bench;
