import { RelayError } from '../../../base/errors.ts';
import { isUuid } from '../../../base/ids.ts';
import { PAGE_ITEMS_MAX } from '../../../base/limits.ts';
import type { ThreadItem } from '../../../contract/threads/answers.ts';
import type { Artifact } from '../../../contract/threads/artifacts.ts';
import type { ThreadsApi } from '../../../contract/threads.ts';
import { badUsage, type Flags } from '../command.ts';
import type { Host, OpenClient } from '../host.ts';
import { printable } from '../human.ts';
import type { Io } from '../io.ts';

/** What every command about one thread understands. */
export const THREAD_FLAG = {
  thread: {
    short: 't',
    value: 'ID',
    help: 'the thread: its id, the beginning of it, or its name (RELAY_THREAD; else the one used last)',
  },
} as const satisfies Flags;

/**
 * The thread a command is about: the one named, else RELAY_THREAD, else the one used last. With `use` it becomes that
 * one: what makes or changes a thread uses it, what only looks does not. `quiet` is for what tells the id anyway.
 */
export async function chooseThread(
  call: { readonly io: Io; readonly host: Host },
  open: OpenClient,
  word: string | undefined,
  o: { readonly use?: boolean; readonly quiet?: boolean } = {},
): Promise<string> {
  const { io, host } = call;
  const named = word ?? (io.env.RELAY_THREAD || undefined);
  if (named !== undefined) {
    const id = await findThread(open.relay.threads, named);
    if (o.use && word !== undefined) await useThread(host, id);
    return id;
  }
  const last = (await host.threadMemory()).get();
  if (last === undefined) {
    throw badUsage(
      'Which thread? None has been used here yet.',
      'Begin one with: relay thread new --name NAME. Or name one: relay runs lists them.',
    );
  }
  if (!o.quiet && io.stderr.isTTY && !io.json) io.note(`thread ${last}`);
  return last;
}

/** Makes it the one that is meant where none is named. That this cannot be kept is no reason to fail. */
export async function useThread(host: Host, id: string): Promise<void> {
  try {
    await (await host.threadMemory()).set(id);
  } catch {
    // The next command says which thread it misses.
  }
}

/** A positional id and --thread say the same thing. */
export function threadWord(
  command: string,
  arg: string | undefined,
  flag: string | undefined,
): string | undefined {
  if (arg === undefined || flag === undefined) return arg ?? flag;
  throw badUsage('The thread is named twice.', `Use: relay ${command} ${arg}`);
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
  if (found.length === 0) {
    throw new RelayError('not_found', {
      what: `thread ${text.slice(0, 64)}`,
      hint: 'See relay runs for the threads there are.',
    });
  }
  const shown = found.slice(0, SHOWN).map(({ thread_id, name }) => `${thread_id} ${printable(name)}`.trim());
  throw ambiguous(text, 'threads', shown, found.length);
}

/** Enough to choose from. */
const SHOWN = 8;

async function byName(threads: ThreadsApi, name: string): Promise<ThreadItem[]> {
  const found: ThreadItem[] = [];
  if (name === '') return found;
  for (let after: string | undefined; ; ) {
    const page = await threads.list({ after, limit: PAGE_ITEMS_MAX });
    found.push(...page.threads.filter((thread) => thread.name === name));
    if (page.next === undefined || found.length > SHOWN) return found;
    after = page.next;
  }
}

/** From a ref, the beginning of one, or a name: of several artifacts by that name, the newest. */
export async function findArtifact(threads: ThreadsApi, thread: string, word: string): Promise<string> {
  const text = word.trim();
  if (/^[0-9a-f]{26}$/i.test(text)) return text.toLowerCase();
  const fits: Artifact[] = [];
  let named: Artifact | undefined;
  for await (const artifact of everyArtifact(threads, thread)) {
    if (/^[0-9a-f]+$/i.test(text) && artifact.ref.startsWith(text.toLowerCase())) fits.push(artifact);
    if (artifact.name === text) named ??= artifact;
  }
  if (fits.length === 1) return fits[0]!.ref;
  if (fits.length > 1) {
    const shown = fits.slice(0, SHOWN).map(({ ref, name }) => `${ref} ${printable(name)}`);
    throw ambiguous(text, 'artifacts', shown, fits.length);
  }
  if (named) return named.ref;
  throw new RelayError('not_found', {
    what: `artifact ${text.slice(0, 64)} of thread ${thread}`,
    hint: 'See relay artifact list; one of another thread needs --thread.',
  });
}

/** Newest first, page by page. Whoever wants only some says how many are `enough`. */
export async function* everyArtifact(
  threads: ThreadsApi,
  thread: string,
  enough = Number.POSITIVE_INFINITY,
): AsyncGenerator<Artifact> {
  // One more than enough shows that there are more.
  const limit = Math.min(PAGE_ITEMS_MAX, enough + 1);
  for (let after: string | undefined; ; ) {
    const page = await threads.artifacts(thread, { after, limit });
    yield* page.artifacts;
    if (page.next === undefined) return;
    after = page.next;
  }
}

function ambiguous(word: string, what: string, shown: readonly string[], found: number): RelayError {
  const more = found > shown.length ? ['…'] : [];
  return badUsage(
    `"${word}" fits several ${what}:\n${[...shown, ...more].map((line) => `  ${line}`).join('\n')}`,
    'Say a little more of the id.',
  );
}
