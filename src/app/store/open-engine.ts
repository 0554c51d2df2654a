import { join } from 'node:path';
import type { Env } from '../../base/env.ts';
import { isRelayError } from '../../base/errors.ts';
import { everyItem } from '../../base/pages.ts';
import { ARTIFACT_FILES } from '../../domain/threads/keys.ts';
import type { SqliteEngine } from '../../engines/sqlite/engine.ts';
import type { BodyFault } from '../../kernel/block-hashes.ts';
import type { Engine } from '../../kernel/engine.ts';
import type { Config } from '../config.ts';

/** What can be looked at below the ports. */
export type StoreChecks = Pick<SqliteEngine, 'missingBodies' | 'checkBodies' | 'checkDatabase' | 'scrubbed'>;

export interface OpenedEngine {
  readonly engine: Engine;
  readonly checks: StoreChecks;
  /** Whether threads are files in the home too, for people to read: where the home is the store. */
  readonly legible: boolean;
}

/** The engine that the configuration names; each is loaded only where it is the one. */
export async function openEngine(config: Config, role: 'server' | 'cli', env: Env): Promise<OpenedEngine> {
  const { home, durability, engine: url } = config;
  if (url !== null) {
    const { openNats } = await import('../../engines/nats/engine.ts');
    const engine = await openNats({ url, env, indexFile: join(home, 'index.db') });
    return { engine, checks: checksThroughPorts(engine), legible: false };
  }
  const { openSqlite } = await import('../../engines/sqlite/engine.ts');
  const engine = await openSqlite({ home, env, durability, role, place: ARTIFACT_FILES });
  return { engine, checks: engine, legible: true };
}

/** Where nothing below the ports is ours to look at. */
function checksThroughPorts({ blobs }: Engine): StoreChecks {
  return {
    missingBodies: async () => ({ count: 0, some: [] }),
    checkDatabase: async () => null,
    scrubbed: () => null,
    async *checkBodies() {
      for await (const { key, size } of everyItem('items', (o) => blobs.list('', o))) {
        yield { key, size, file: null, fault: await faultOf(blobs, key) };
      }
    },
  };
}

/** Reads all of it. What was deleted meanwhile is fine. */
async function faultOf(blobs: Engine['blobs'], key: string): Promise<BodyFault | null> {
  try {
    const found = await blobs.get(key);
    if (found && !(found.body instanceof Uint8Array)) for await (const _ of found.body);
    return null;
  } catch (error) {
    if (isRelayError(error, 'store_damaged')) return error.details.fault as BodyFault;
    throw error;
  }
}
