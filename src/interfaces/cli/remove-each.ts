import { EXIT, isRelayError } from '../../base/errors.ts';
import type { Io } from './io.ts';

/**
 * Removes several things one by one: those that cannot be are named, the others are gone. `remove` gives false for what shall
 * stay. The exit code.
 */
export async function removeEach(
  io: Io,
  removed: 'revoked' | 'deleted',
  ids: readonly string[],
  remove: (id: string, index: number) => Promise<unknown>,
): Promise<number> {
  const gone: string[] = [];
  const failures: { id: string; error: string; code: string }[] = [];
  let exit: number = EXIT.ok;
  for (const [i, id] of ids.entries()) {
    try {
      if ((await remove(id, i)) === false) continue;
      gone.push(id);
      if (!io.json) io.print(`${removed} ${id}`);
    } catch (error) {
      // One alone fails as every command does.
      if (!isRelayError(error) || ids.length === 1) throw error;
      exit ||= error.exit;
      failures.push({ id, error: error.message, code: error.code });
      if (!io.json) io.warn(`${id}: ${error.message}`);
    }
  }
  io.result({ [removed]: gone, failures }, '');
  return exit;
}
