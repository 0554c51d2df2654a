import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runConformance } from '../../../test/conformance/run.ts';
import { movableSuite } from '../../../test/conformance/suite.ts';
import { damageBody } from '../../../test/sqlite/damage.ts';
import type { Env } from '../../base/env.ts';
import { openSqlite } from './engine.ts';

for (const role of ['cli', 'server'] as const) {
  const open = async (env: Env) => {
    const home = mkdtempSync(join(tmpdir(), 'relay-conformance-'));
    const engine = await openSqlite({ home, env, role, durability: role === 'cli' ? 'power' : 'process' });
    return {
      engine,
      damage: async (key: string, offset: number) => damageBody(home, key, offset),
      async close() {
        await engine[Symbol.asyncDispose]();
        rmSync(home, { recursive: true });
      },
    };
  };
  runConformance(`sqlite for a ${role}`, open, [], movableSuite);
}
