import { RelayError } from '../../../base/errors.ts';
import type { ThreadsApi } from '../../../contract/threads.ts';
import { badUsage, defineCommand } from '../command.ts';
import { plural } from '../human.ts';
import type { Io } from '../io.ts';
import { removeEach } from '../remove-each.ts';
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
  async run({ io, host, args, flags, open }) {
    const { threads } = (await open()).relay;
    // All are known before the first is gone.
    const ids = new Set<string>();
    for (const arg of args) ids.add(await findThread(threads, longEnough(arg)));
    return removeEach(io, 'deleted', [...ids], async (id) => {
      if (!flags.force && !(await agreed(io, threads, id))) return false;
      await threads.delete(id);
      await (await host.threadMemory()).forget(id);
    });
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
