import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runConformance } from '../../../test/conformance/run.ts';
import { damageBody } from '../../../test/sqlite/damage.ts';
import { openSqlite } from './engine.ts';

for (const role of ['cli', 'server'] as const) {
  runConformance(`sqlite for a ${role}`, async (env) => {
    const home = mkdtempSync(join(tmpdir(), 'relay-conformance-'));
    const engine = await openSqlite({ home, env, role, durability: role === 'cli' ? 'power' : 'process' });
    return {
      engine,
      damage: async (key, offset) => damageBody(home, key, offset),
      async close() {
        await engine[Symbol.asyncDispose]();
        rmSync(home, { recursive: true });
      },
    };
  });
}
