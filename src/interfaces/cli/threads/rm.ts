import { EXIT, isRelayError, RelayError } from '../../../base/errors.ts';
import type { ThreadsApi } from '../../../contract/threads.ts';
import { badUsage, defineCommand } from '../command.ts';
import { plural } from '../human.ts';
import type { Io } from '../io.ts';
import { plain } from './event-line.ts';
import { findThread } from './thread-choice.ts';

export default defineCommand({
  usage: '<id…>',
  details: `State, artifacts and events are gone for good; relay export keeps a copy. At a terminal it asks first.`,
  takes: { min: 1, max: 1000 },
  flags: { force: { short: 'f', help: 'do not ask' } },
  examples: [
    ['relay thread rm 550e84', 'delete one'],
    ['relay export 550e84 --out kept.zip && relay thread rm 550e84', 'keep a copy'],
  ],
  async run({ io, host, args, flags }) {
    await using open = await host.openClient();
    const { threads } = open.relay;
    // All are known before the first is gone.
    const ids: string[] = [];
    for (const arg of args) ids.push(await findThread(threads, longEnough(arg)));
    const deleted: string[] = [];
    const failures: { id: string; error: string; code: string }[] = [];
    let exit: number = EXIT.ok;
    for (const id of new Set(ids)) {
      try {
        if (!flags.force && !(await agreed(io, threads, id))) continue;
        await threads.delete(id);
        await (await host.threadMemory()).forget(id);
        deleted.push(id);
        if (!io.json) io.print(`deleted ${id}`);
      } catch (error) {
        // One alone fails as every command does.
        if (!isRelayError(error) || ids.length === 1) throw error;
        exit ||= error.exit;
        failures.push({ id, error: error.message, code: error.code });
        if (!io.json) io.warn(`${id}: ${error.message}`);
      }
    }
    io.result({ deleted, failures }, '');
    return exit;
  },
});

/** Where a slip of the finger costs a thread, a letter or two are not enough to name it. */
function longEnough(word: string): string {
  if (word.trim().length >= 4) return word;
  throw badUsage(
    `"${word}" is too short to delete a thread by.`,
    'Say at least four characters of its id; relay runs lists them.',
  );
}

async function agreed(io: Io, threads: ThreadsApi, id: string): Promise<boolean> {
  if (io.json || !io.stdin.isTTY || !io.stderr.isTTY) return true;
  const { name, artifact_count, state_version } = await threads.get(id);
  const title = plain(name);
  const called = title === '' ? id : `${id} "${title}"`;
  const holds = `${plural(artifact_count, 'artifact')}, state v${state_version}`;
  const answer = await io.ask(`Delete thread ${called} with ${holds}? [y/N] `);
  if (answer === null) throw new RelayError('aborted', { what: 'nobody answered', hint: 'Use --force.' });
  return /^y(es)?$/i.test(answer);
}
