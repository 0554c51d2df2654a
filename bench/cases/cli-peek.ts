import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { PAYLOAD_BYTES } from '../pointers.ts';
import { benchFolder, plainEnv, RELAY } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

export default {
  name: 'cli-peek',
  claim: 'at most 2.3×',
  limit: 2.3,
  async run({ rounds }) {
    const home = benchFolder();
    try {
      const file = join(home, 'payload.txt');
      writeFileSync(file, 'Call me later.\n'.repeat(PAYLOAD_BYTES / 15));
      const url = node([RELAY, 'push', file], home).trim();
      const ours = () => time(() => node([RELAY, 'peek', url], home));
      const baseline = () => time(() => node(['-e', '0'], home));
      const result: Round[] = [];
      for (let i = 0; i < rounds * 2; i++) result.push({ ours: ours(), baseline: baseline() });
      // The first few fill the caches of the disk.
      return summarise(
        result.slice(3),
        'ms',
        'relay peek on the local store, as built; bare Node: node -e 0',
      );
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
} satisfies Bench;

function node(args: string[], home: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    env: { ...plainEnv(), RELAY_HOME: home },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with exit code ${status}: ${stderr}`);
  return stdout;
}

function time(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
