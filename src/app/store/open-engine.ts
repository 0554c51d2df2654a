import { ARTIFACT_FILES } from '../../domain/threads/keys.ts';
import type { Engine } from '../../kernel/engine.ts';
import type { Config } from '../config.ts';
import { makeHome } from './home.ts';

/** The engine of a home. A server keeps its database in shape while it runs; a command is gone too soon for that. */
export async function openEngine(config: Config, role: 'server' | 'cli'): Promise<Engine> {
  makeHome(config.home);
  const { openSqlite } = await import('../../engines/sqlite/engine.ts');
  return openSqlite({ home: config.home, durability: config.durability, role, place: ARTIFACT_FILES });
}
