import type { RelayError } from '../../../base/errors.ts';
import { isRef, isUuid } from '../../../base/ids.ts';
import { everyItem } from '../../../base/pages.ts';
import type { Artifact, ReadKind, ThreadItem, ThreadsApi } from '../../../contract/threads.ts';
import {
  type AnswerSpec,
  badUsage,
  type Command,
  defineCommand,
  type Flags,
  type Invocation,
  refusal,
} from '../command.ts';
import type { Host } from '../host.ts';
import { printable } from '../human.ts';

/** What every command about one thread understands. */
export const THREAD_FLAG = {
  thread: {
    short: 't',
    value: 'ID',
    help: 'the thread: its id, the beginning of it, or its name (RELAY_THREAD; else the one used last)',
  },
} as const satisfies Flags;

interface ThreadChoice {
  /** A positional id, which says the same as --thread. */
  readonly word?: string;
  /** It becomes the one used last: what makes or changes a thread uses it, what only looks does not. */
  readonly use?: boolean;
  /** For what tells the id anyway. */
  readonly quiet?: boolean;
}

/** Opens the relay and finds the thread that a command is about: the one named, else RELAY_THREAD, else the one used last. */
export async function openThread(call: Invocation<typeof THREAD_FLAG>, o: ThreadChoice = {}) {
  const { io, host, flags } = call;
  if (o.word !== undefined && flags.thread !== undefined)
    throw badUsage('The thread is named twice.', `Use: ${call.name} ${o.word}`);
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
      'Which thread? None has been used here yet.',
      'Begin one with: relay thread new --name NAME. Or name one: relay runs lists them.',
    );
  if (!o.quiet && io.stderr.isTTY && !io.json) io.note(`thread ${last}`);
  return { relay, threads, id: last };
}

/** Makes it the one that is meant where none is named. That this cannot be kept is no reason to fail. */
export async function useThread(host: Host, id: string): Promise<void> {
  const memory = await host.relay.threadMemory();
  // The next command says which thread it misses.
  await memory.set(id).catch(() => {});
}

/** From an id, the beginning of one, or a name. What fits several threads is refused, with all of them. */
export async function findThread(threads: ThreadsApi, word: string): Promise<string> {
  const text = word.trim();
  if (isUuid(text)) return text.toLowerCase();
  const byId = /^[0-9a-f-]{1,35}$/i.test(text)
    ? (await threads.list({ prefix: text, limit: SHOWN + 1 })).threads
    : [];
  const found = byId.length > 0 ? byId : await byName(threads, text);
  if (found.length === 1) return found[0]!.thread_id;
  if (found.length === 0)
    throw refusal('not_found', `thread ${text.slice(0, 64)}`, 'See relay runs for the threads there are.');
  const lines = found.map(({ thread_id, name }) => `${thread_id} ${printable(name)}`.trim());
  throw ambiguous(text, 'threads', lines);
}

/** Enough to choose from. */
const SHOWN = 8;

async function byName(threads: ThreadsApi, name: string): Promise<ThreadItem[]> {
  const found: ThreadItem[] = [];
  if (name === '') return found;
  for await (const thread of everyItem('threads', (o) => threads.list(o))) {
    if (thread.name === name) found.push(thread);
    if (found.length > SHOWN) break;
  }
  return found;
}

/** From a ref, the beginning of one, or a name: of several artifacts by that name, the newest. */
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
    'See relay artifact list; one of another thread needs --thread.',
  );
}

function ambiguous(word: string, what: string, fitting: readonly string[]): RelayError {
  const shown = [...fitting.slice(0, SHOWN), ...(fitting.length > SHOWN ? ['…'] : [])];
  return badUsage(
    `"${word}" fits several ${what}:\n${shown.map((line) => `  ${line}`).join('\n')}`,
    'Say a little more of the id.',
  );
}

interface FoundThread {
  readonly threads: ThreadsApi;
  readonly id: string;
}

interface ReadSpec<F extends Flags, A> extends Omit<AnswerSpec<F, A>, 'ask' | 'exit'> {
  /** What it reads is not to be counted: what is printed of it is. */
  ask(thread: FoundThread, call: Invocation<F>): Promise<A>;
}

/** A command that prints something of a thread, which goes into the ledger where a model may get to see it. */
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

/** Prints an answer. Piped, it is taken for something that a model reads; a person at a terminal reads for nothing. */
export async function showRead(
  { io, host }: Pick<Invocation<Flags>, 'io' | 'host'>,
  { threads, id, what }: FoundThread & { readonly what: ReadKind },
  answer: unknown,
  text: string,
): Promise<undefined> {
  io.result(answer, text);
  if (io.interactive) return;
  const { tokens } = await host.program.countTokens(io.json ? JSON.stringify(answer) : text);
  // What was asked for is printed: that an older relay keeps no such ledger is no reason to fail.
  await threads.shown(id, { what, tokens }).catch(() => {});
}
