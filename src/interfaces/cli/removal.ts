import { EXIT, isRelayError } from '../../base/errors.ts';
import { type Flags, refusal } from './command.ts';
import type { Io } from './io.ts';

export const FORCE_FLAG = { force: { short: 'f', help: 'do not ask' } } as const satisfies Flags;

/** Whether the person at the terminal agrees. With --force nobody is asked, nor where nobody could answer. */
export async function agrees(
  io: Io,
  { force }: { readonly force?: boolean },
  question: () => string | Promise<string>,
): Promise<boolean> {
  if (force || io.json || !io.stdin.isTTY || !io.stderr.isTTY) return true;
  const answer = await io.ask(`${await question()} [y/N] `);
  if (answer === null) throw refusal('aborted', 'nobody answered', 'Use --force.');
  return /^y(es)?$/i.test(answer);
}

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
