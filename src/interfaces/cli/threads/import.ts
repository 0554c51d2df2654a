import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { EXIT, isRelayError } from '../../../base/errors.ts';
import { BUNDLE_BYTES } from '../../../base/limits.ts';
import { shellWord } from '../../../base/shell-word.ts';
import { badUsage, defineCommand, type Invocation } from '../command.ts';
import type { Host, LegacyThread } from '../host.ts';
import { labelled, plural } from '../human.ts';
import { openPayload } from '../pointers/payload.ts';
import { withProgress } from '../progress.ts';
import { plain } from './event-line.ts';
import { useThread } from './thread-choice.ts';

export default defineCommand({
  usage: '<bundle.zip|->',
  details: `A bundle is checked before anything is stored, and taken in whole or not at all. A thread that is here
already is left as it is.

With --legacy it reads the home of a Go relay (~/.relay by default), which may be running, and never changes it.
Names, ids, refs, types, hashes, events and every version of every state are kept; whatever is otherwise here is
told. A state with something that has no place here is kept whole beside it, as an artifact. Importing again takes
over the threads that are not here yet. A ZIP that a Go relay exported has no contents, and is refused.`,
  takes: { max: 1 },
  flags: { legacy: { help: 'read the home of a Go relay' } },
  examples: [
    ['relay import bundle.zip', 'a thread from elsewhere'],
    [
      'relay import --legacy --home ~/.contextrelay',
      'what a Go relay left in ~/.relay, into a home of its own',
    ],
    ['relay import --legacy /mnt/old/.relay', 'from a copy'],
  ],
  async run(call) {
    const { io, host, args, flags, open } = call;
    if (flags.legacy) return importLegacy(call, args[0]);
    if (args[0] === undefined) {
      throw badUsage('Which bundle?', 'Use: relay import bundle.zip. relay export makes one.');
    }
    const source = await openPayload(io, args[0], { limit: BUNDLE_BYTES });
    const { relay } = await open();
    const taken = await relay.threads.import(withProgress(io, source.body, source));
    await useThread(host, taken.thread_id);
    for (const ref of taken.damaged ?? []) {
      io.warn(`Artifact ${ref} comes without its content, which was damaged where it was exported.`);
    }
    io.result(taken, () => {
      const { thread_id, name, state_ref, artifacts, events } = taken;
      const facts = [plain(name), state_ref, plural(artifacts, 'artifact'), plural(events, 'event')];
      return labelled(io, 'thread_id', thread_id, facts);
    });
  },
});

interface Outcome extends Omit<LegacyThread, 'bundle'> {
  readonly outcome: 'imported' | 'here already' | 'failed';
}

async function importLegacy({ io, host, open }: Invocation, named: string | undefined): Promise<number> {
  const dir = named === undefined ? join(homedir(), '.relay') : resolve(io.cwd, named);
  if (dir === host.home && !isRemote(host)) {
    const elsewhere = join(homedir(), '.contextrelay');
    throw badUsage(
      `${dir} is both where the old threads are and where they would go.`,
      `Keep them apart: relay import --legacy ${shellWord(dir)} --home ${shellWord(elsewhere)}, and RELAY_HOME=${shellWord(elsewhere)} from then on.`,
    );
  }
  using legacy = await host.openLegacy(dir);
  const { relay } = await open();
  const threads: Outcome[] = [];
  let exit: number = EXIT.ok;
  for await (const { bundle, ...thread } of legacy.threads) {
    const { thread_id } = thread;
    const notes = [...thread.notes];
    let outcome: Outcome['outcome'] = 'imported';
    try {
      await relay.threads.import(bundle());
    } catch (error) {
      if (!isRelayError(error)) throw error;
      outcome = error.code === 'conflict' ? 'here already' : 'failed';
      if (outcome === 'failed') {
        exit ||= error.exit;
        notes.push(error.message);
      }
    }
    threads.push({ ...thread, outcome, notes });
    if (io.json) continue;
    io.print(`${outcome}  ${thread_id}  ${plain(thread.name)} · ${io.style.dim(inFigures(thread))}`);
    if (outcome !== 'here already') for (const note of notes) io.warn(`${thread_id}: ${plain(note)}`);
  }
  const imported = threads.filter(({ outcome }) => outcome === 'imported').length;
  const { changes } = legacy;
  if (!io.json && imported > 0) for (const change of changes) io.warn(change);
  io.result({ from: dir, imported, changes, threads }, () =>
    io.interactive ? `${imported} of ${plural(threads.length, 'thread')} imported from ${dir}` : '',
  );
  return exit;
}

function inFigures({ versions, artifacts, events }: Omit<LegacyThread, 'bundle'>): string {
  const last = versions === 0 ? '' : `v${versions}, `;
  return `${last}${plural(artifacts, 'artifact')}, ${plural(events, 'event')}`;
}

/** The configuration of a Go relay is none of ours: that it cannot be read is part of the same mix-up. */
function isRemote(host: Host): boolean {
  try {
    return host.remote !== null;
  } catch {
    return false;
  }
}
