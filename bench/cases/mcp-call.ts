import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Bench } from '../bench.ts';
import { pushOne } from '../pointers.ts';
import { plainEnv, RELAY, startRelay } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const WARMUPS = 50;

export default {
  name: 'mcp-call',
  claim: null,
  limit: null,
  async run({ rounds }) {
    await using relay = await startRelay();
    const url = await pushOne(relay);
    const client = new Client({ name: 'bench', version: '1' });
    const env = { ...(plainEnv() as Record<string, string>), CONTEXTRELAY_URL: relay.url };
    const args = [join(RELAY, '..', 'contextrelay-mcp.js')];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env }));
    const call = async () => {
      const answer = await client.callTool({ name: 'peek_context', arguments: { url } });
      if (answer.isError) throw new Error(`peek_context failed: ${JSON.stringify(answer.content)}`);
    };
    const fetched = async () => void (await (await fetch(url.replace('/pull/', '/peek/'))).arrayBuffer());
    const measured: Round[] = [];
    for (let round = -WARMUPS; round < rounds * 5; round++) {
      const pair = { ours: await time(call), baseline: await time(fetched) };
      if (round >= 0) measured.push(pair);
    }
    await client.close();
    return summarise(measured, 'ms', 'peek_context by an MCP client over stdio; the same peek by fetch');
  },
} satisfies Bench;

async function time(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
