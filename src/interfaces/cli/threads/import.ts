import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { EXIT, isRelayError } from '../../../base/errors.ts';
import { BUNDLE_BYTES } from '../../../base/limits.ts';
import { badUsage, defineCommand, type Invocation } from '../command.ts';
import type { Host } from '../host.ts';
import { plural } from '../human.ts';
import { openPayload } from '../pointers/payload.ts';
import { withProgress } from '../progress.ts';
import { plain } from './event-line.ts';
import { useThread } from './thread-choice.ts';

export default defineCommand({
  usage: '<bundle.zip|->',
  details: `A bundle is checked before anything is stored, and taken in whole or not at all. A thread that is here
already is left as it is.

With --legacy it reads the threads/ of a Go relay's folder (~/.relay unless one is named) and never changes it. Threads
and artifacts keep their ids; what does not fit a state here is kept beside it as an artifact, and told.`,
  takes: { max: 1 },
  flags: { legacy: { help: 'read the folder of a Go relay' } },
  examples: [
    ['relay import bundle.zip', 'a thread from elsewhere'],
    [
      'relay import --legacy --home ~/.contextrelay',
      'what a Go relay left in ~/.relay, into a home of its own',
    ],
    ['relay import --legacy /mnt/old/.relay', 'from a copy'],
  ],
  async run(call) {
    const { io, host, args, flags } = call;
    if (flags.legacy) return importLegacy(call, args[0]);
    if (args[0] === undefined) {
      throw badUsage('Which bundle?', 'Use: relay import bundle.zip. relay export makes one.');
    }
    const source = await openPayload(io, args[0], { limit: BUNDLE_BYTES });
    const body = source.body instanceof Uint8Array ? source.body : withProgress(io, source.body, source);
    await using open = await host.openClient();
    const taken = await open.relay.threads.import(body);
    await useThread(host, taken.thread_id);
    io.result(taken, () => {
      if (!io.interactive) return taken.thread_id;
      const { style } = io;
      const name = plain(taken.name);
      const facts = [
        ...(name === '' ? [] : [name]),
        taken.state_ref,
        plural(taken.artifacts, 'artifact'),
        plural(taken.events, 'event'),
      ];
      return `${style.dim('thread_id')}  ${taken.thread_id}\n${style.dim(facts.join(' · '))}`;
    });
  },
});

interface Outcome {
  readonly path: string;
  readonly thread_id: string;
  readonly outcome: 'imported' | 'here already' | 'failed';
  readonly notes: readonly string[];
}

async function importLegacy({ io, host }: Invocation, named: string | undefined): Promise<number> {
  const dir = named === undefined ? join(homedir(), '.relay') : resolve(io.cwd, named);
  if (dir === host.home && !isRemote(host)) {
    const elsewhere = join(homedir(), '.contextrelay');
    throw badUsage(
      `${dir} is both where the old threads are and where they would go.`,
      `Keep them apart: relay import --legacy ${dir} --home ${elsewhere}, and RELAY_HOME=${elsewhere} from then on.`,
    );
  }
  await using open = await host.openClient();
  const threads: Outcome[] = [];
  let exit: number = EXIT.ok;
  for await (const thread of host.readLegacy(dir)) {
    const { path, thread_id, name, artifacts } = thread;
    const notes = [...thread.notes];
    let outcome: Outcome['outcome'] = 'imported';
    try {
      await open.relay.threads.import(thread.bundle());
    } catch (error) {
      if (!isRelayError(error)) throw error;
      outcome = error.code === 'conflict' ? 'here already' : 'failed';
      if (outcome === 'failed') {
        exit ||= error.exit;
        notes.push(error.message);
      }
    }
    threads.push({ path, thread_id, outcome, notes });
    if (io.json) continue;
    io.print(`${outcome}  ${thread_id}  ${plain(name)} ${io.style.dim(plural(artifacts, 'artifact'))}`);
    if (outcome !== 'here already') for (const note of notes) io.warn(`${thread_id}: ${plain(note)}`);
  }
  const imported = threads.filter(({ outcome }) => outcome === 'imported').length;
  io.result({ from: dir, imported, threads }, () =>
    io.interactive ? `${imported} of ${plural(threads.length, 'thread')} imported from ${dir}` : '',
  );
  return exit;
}

/** The configuration of a Go relay is none of ours: that it cannot be read is part of the same mix-up. */
function isRemote(host: Host): boolean {
  try {
    return host.remote !== null;
  } catch {
    return false;
  }
}
