import { EXIT, isRelayError } from '../../base/errors.ts';
import { type Flags, refusal } from './command.ts';
import type { Io } from './io.ts';

export const FORCE_FLAG = {
  force: { short: 'f', help: 'do not ask for confirmation' },
} as const satisfies Flags;

/**
 * Asks the user to confirm. Returns true without asking if --force or --json is set, or if there is no
 * terminal.
 */
export async function agrees(
  io: Io,
  { force }: { readonly force?: boolean },
  question: () => string | Promise<string>,
): Promise<boolean> {
  if (force || io.json || !io.stdin.isTTY || !io.stderr.isTTY) return true;
  const answer = await io.ask(`${await question()} [y/N] `);
  if (answer === null) throw refusal('aborted', 'nobody answered', 'Use --force to skip the question.');
  return /^y(es)?$/i.test(answer);
}

/**
 * Removes items one by one, prints which ones failed, and returns the exit code. `remove` returns false if
 * the user did not agree.
 */
export async function removeEach(
  io: Io,
  removed: 'revoked' | 'deleted',
  ids: readonly string[],
  remove: (id: string, index: number) => Promise<unknown>,
): Promise<number> {
  const removedIds: string[] = [];
  const failures: { id: string; error: string; code: string }[] = [];
  let exit: number = EXIT.ok;
  for (const [i, id] of ids.entries()) {
    try {
      if ((await remove(id, i)) === false) continue;
      removedIds.push(id);
      if (!io.json) io.print(`${removed} ${id}`);
    } catch (error) {
      // With a single item, fail like any other command.
      if (!isRelayError(error) || ids.length === 1) throw error;
      exit ||= error.exit;
      failures.push({ id, error: error.message, code: error.code });
      if (!io.json) io.warn(`${id}: ${error.message}`);
    }
  }
  io.result({ [removed]: removedIds, failures }, '');
  return exit;
}
