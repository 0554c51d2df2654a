import type { Config } from '../config.ts';
import { makeHome } from './home.ts';

/** Copies the store of a home into a folder, while it is in use. */
export async function backup(config: Config, target: string): Promise<void> {
  const { backupSqlite } = await import('../../engines/sqlite/backup.ts');
  await backupSqlite(config.home, target);
}

/** Puts a backup in place of the store of a home, which nobody may be using. */
export async function restore(config: Config, source: string, o: { force: boolean }): Promise<void> {
  const { restoreSqlite } = await import('../../engines/sqlite/backup.ts');
  makeHome(config.home);
  await restoreSqlite(source, config.home, o);
}
