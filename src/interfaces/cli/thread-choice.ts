import type { RelayError } from '../../base/errors.ts';
import { isRef, isUuid } from '../../base/ids.ts';
import { everyItem } from '../../base/pages.ts';
import type { Artifact, ReadKind, ThreadItem, ThreadsApi } from '../../contract/threads.ts';
import {
  type AnswerSpec,
  badUsage,
  type Command,
  defineCommand,
  type Flags,
  type Invocation,
  refusal,
} from './command.ts';
import type { Host } from './host.ts';
import { printable } from './human.ts';

/** The --thread flag of every command that works on one thread. */
export const THREAD_FLAG = {
  thread: {
    short: 't',
    value: 'ID',
    help: 'thread id, its first characters, or name (RELAY_THREAD, else the default thread)',
  },
} as const satisfies Flags;

interface ThreadChoice {
  /** Thread that a positional argument names, instead of --thread. */
  readonly word?: string;
  /** True if the thread becomes the default thread, for commands that create or change a thread. */
  readonly use?: boolean;
  /** True to print no note with the thread id, because the output contains the id. */
  readonly quiet?: boolean;
}

/**
 * Opens the relay and finds the thread of a command: the named thread, otherwise the one in RELAY_THREAD,
 * otherwise the default thread.
 */
export async function openThread(call: Invocation<typeof THREAD_FLAG>, o: ThreadChoice = {}) {
  const { io, host, flags } = call;
  if (o.word !== undefined && flags.thread !== undefined)
    throw badUsage('The thread is given twice.', `Use: ${call.name} ${o.word}`);
  const word = o.word ?? flags.thread;
  const { relay } = await call.open();
  const { threads } = relay;
  const named = word ?? (io.env.RELAY_THREAD || undefined);
  if (named !== undefined) {
    const id = await findThread(threads, named);
    if (o.use && word !== undefined) await useThread(host, id);
    return { relay, threads, id };
  }
  const last = (await host.relay.threadMemory()).get();
  if (last === undefined)
    throw badUsage(
      'No thread is named and there is no default thread yet.',
      'Create one with: relay thread new --name NAME. Or pass --thread ID. To list the threads: relay thread list',
    );
  if (!o.quiet && io.stderr.isTTY && !io.json) io.note(`thread ${last}`);
  return { relay, threads, id: last };
}

/**
 * Makes a thread the default thread. Ignores errors, because the command itself has succeeded and later
 * commands report that there is no default thread.
 */
export async function useThread(host: Host, id: string): Promise<void> {
  const memory = await host.relay.threadMemory();
  await memory.set(id).catch(() => {});
}

/**
 * Finds a thread by its id, the first characters of its id, or its name. If several threads match, the error
 * lists them.
 */
export async function findThread(threads: ThreadsApi, word: string): Promise<string> {
  const text = word.trim();
  if (isUuid(text)) return text.toLowerCase();
  const byId = /^[0-9a-f-]{1,35}$/i.test(text)
    ? (await threads.list({ prefix: text, limit: MATCHES_LISTED + 1 })).threads
    : [];
  const found = byId.length > 0 ? byId : await byName(threads, text);
  if (found.length === 1) return found[0]!.thread_id;
  if (found.length === 0)
    throw refusal('not_found', `thread ${text.slice(0, 64)}`, 'List the threads with: relay thread list');
  const lines = found.map(({ thread_id, name }) => `${thread_id} ${printable(name)}`.trim());
  throw ambiguous(text, 'threads', lines);
}

/** Maximum number of matching threads or artifacts that an error lists. */
const MATCHES_LISTED = 8;

async function byName(threads: ThreadsApi, name: string): Promise<ThreadItem[]> {
  const found: ThreadItem[] = [];
  if (name === '') return found;
  for await (const thread of everyItem('threads', (o) => threads.list(o))) {
    if (thread.name === name) found.push(thread);
    if (found.length > MATCHES_LISTED) break;
  }
  return found;
}

/**
 * Finds an artifact by its reference, the first characters of its reference, or its name. If several
 * artifacts have this name, returns the newest.
 */
export async function findArtifact(threads: ThreadsApi, thread: string, word: string): Promise<string> {
  const text = word.trim();
  if (isRef(text.toLowerCase())) return text.toLowerCase();
  const fits: Artifact[] = [];
  let named: Artifact | undefined;
  for await (const artifact of everyItem('artifacts', (o) =>
    threads.artifacts(thread, { ...o, counted: false }),
  )) {
    if (/^[0-9a-f]+$/i.test(text) && artifact.ref.startsWith(text.toLowerCase())) fits.push(artifact);
    if (artifact.name === text) named ??= artifact;
  }
  if (fits.length > 1) {
    const lines = fits.map(({ ref, name }) => `${ref} ${printable(name)}`);
    throw ambiguous(text, 'artifacts', lines);
  }
  const found = fits[0] ?? named;
  if (found) return found.ref;
  throw refusal(
    'not_found',
    `artifact ${text.slice(0, 64)} of thread ${thread}`,
    'List the artifacts with: relay artifact list. Use --thread for another thread.',
  );
}

function ambiguous(word: string, what: string, fitting: readonly string[]): RelayError {
  const listed = [...fitting.slice(0, MATCHES_LISTED), ...(fitting.length > MATCHES_LISTED ? ['…'] : [])];
  return badUsage(
    `"${word}" matches several ${what}:\n${listed.map((line) => `  ${line}`).join('\n')}`,
    'Use more characters of the id.',
  );
}

interface FoundThread {
  readonly threads: ThreadsApi;
  readonly id: string;
}

interface ReadSpec<F extends Flags, A> extends Omit<AnswerSpec<F, A>, 'ask' | 'exit'> {
  /**
   * Reads the answer. Calls must pass `counted: false`: `readCommand` counts the printed tokens, and they
   * must not be counted twice.
   */
  ask(thread: FoundThread, call: Invocation<F>): Promise<A>;
}

/** Defines a command that prints content of a thread. See `showRead`. */
export function readCommand<const F extends typeof THREAD_FLAG & Flags, A>(
  what: ReadKind,
  spec: ReadSpec<F, A>,
): Command {
  return defineCommand<F>({
    ...spec,
    async run(call) {
      const thread = await openThread(call as unknown as Invocation<typeof THREAD_FLAG>);
      const answer = await spec.ask(thread, call);
      await showRead(call, { ...thread, what }, answer, spec.print(answer, call.io, call.flags));
      return undefined;
    },
  });
}

/**
 * Prints content of a thread. In a pipe a model probably reads it, so its tokens are recorded as read. At a
 * terminal a person reads it.
 */
export async function showRead(
  { io, host }: Pick<Invocation<Flags>, 'io' | 'host'>,
  { threads, id, what }: FoundThread & { readonly what: ReadKind },
  answer: unknown,
  text: string,
): Promise<undefined> {
  io.result(answer, text);
  if (io.interactive) return;
  const { tokens } = await host.program.countTokens(io.json ? JSON.stringify(answer) : text);
  // Ignore errors: the answer is already printed, and old servers cannot record reads.
  await threads.shown(id, { what, tokens }).catch(() => {});
}
