import type { Relay } from '../../src/contract/relay.ts';
import { to } from '../frame/router.ts';
import { hasScope } from './self.ts';

/** One result of the search, such as a thread or a file. */
export interface Found {
  readonly title: string;
  readonly note?: string;
  readonly href: string;
}

/** Results by group, such as `Threads`. */
export type FoundGroup = readonly [group: string, found: readonly Found[]];

const FEW = 5;
const SPACES = 10;

type Source = (relay: Relay, q: string) => Promise<readonly Found[]>;

/**
 * Searches a list that is short enough to be read completely: reads it once per search dialog and filters it in the
 * browser.
 */
function shortList(read: (relay: Relay) => Promise<readonly Found[]>): Source {
  let listed: Promise<readonly Found[]> | undefined;
  return async (relay, q) => {
    listed ??= read(relay);
    const words = q.toLowerCase().split(/\s+/);
    const matching = (await listed).filter(({ title, note }) => {
      const text = `${title} ${note ?? ''}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    return matching.slice(0, FEW);
  };
}

/**
 * Returns a search over everything that the caller may see. Calls `show` with all results so far whenever a group of
 * results arrives.
 */
export function finder(
  relay: Relay,
): (q: string, show: (groups: readonly FoundGroup[]) => void) => Promise<void> {
  const sources: readonly (readonly [name: string, search: Source | false])[] = [
    ['Go to', jump],
    ['Threads', hasScope('threads') && threads],
    ['Artifacts', hasScope('threads') && artifacts],
    ['Pointers', hasScope('pull') && pointers],
    ['Tasks', hasScope('tasks') && shortList(tasks)],
    ['Runs', hasScope('threads') && shortList(runs)],
    ['Channels', hasScope('subscribe') && shortList(channels)],
    ['Files', hasScope('files') && files],
    ['Agents', hasScope('tasks') && shortList(agents)],
  ];
  return async (q, show) => {
    const groups = sources.map(([name]): FoundGroup => [name, []]);
    const searching = sources.map(async ([name, search], at) => {
      if (search === false) return;
      groups[at] = [name, await search(relay, q).catch(() => [])];
      show(groups.filter(([, found]) => found.length > 0));
    });
    await Promise.all(searching);
  };
}

/**
 * Finds the object with a handle or an id. If no run, task or thread has the id, returns a pointer with this id, which
 * may not exist.
 */
async function jump(relay: Relay, q: string): Promise<readonly Found[]> {
  const handle = /^(?:relay:)?(\d{1,15})$/i.exec(q)?.[1];
  if (handle !== undefined && hasScope('pull')) {
    const name = `relay:${handle}`;
    const { pointers: listed } = await relay.pointers.list({ q: name, limit: 200 });
    const about = listed.find((pointer) => pointer.handle === name);
    const note = typeof about?.metadata.summary === 'string' ? about.metadata.summary : 'pointer';
    return about ? [{ title: name, note, href: to('pointers', name) }] : [];
  }
  const id = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i.exec(q)?.[0].toLowerCase();
  if (id === undefined) return [];
  const listed = await Promise.all([
    hasScope('threads') ? runs(relay) : [],
    hasScope('tasks') ? tasks(relay) : [],
    hasScope('threads') ? namedThreads(relay, { prefix: id }) : [],
  ]);
  const found = listed.flat().filter(({ href }) => href.endsWith(`/${id}`));
  return found.length > 0 ? found : [{ title: id, note: 'pointer', href: to('pointers', id) }];
}

const namedThreads = async (relay: Relay, o: { q?: string; prefix?: string }): Promise<readonly Found[]> =>
  (await relay.threads.list({ ...o, limit: FEW })).threads.map(({ thread_id, name }) => ({
    title: name || 'Unnamed',
    href: to('threads', thread_id),
  }));

const threads: Source = (relay, q) => namedThreads(relay, { q });

const artifacts: Source = async (relay, q) =>
  (await relay.threads.searchAll(q, { limit: FEW })).hits.map(({ thread_id, ref, name, snippet }) => ({
    title: name || ref,
    note: snippet.replaceAll('**', '').replace(/\s+/g, ' ').slice(0, 140),
    href: `${to('threads', thread_id)}?tab=artifacts&artifact=${encodeURIComponent(ref)}`,
  }));

const pointers: Source = async (relay, q) =>
  (await relay.pointers.list({ q, limit: FEW })).pointers.map(({ id, handle, metadata, from, channel }) => ({
    title: typeof metadata.summary === 'string' ? metadata.summary : (handle ?? id.slice(0, 8)),
    note: [handle, `from ${from}`, channel && `on ${channel}`].filter(Boolean).join(', '),
    href: to('pointers', id),
  }));

const files: Source = async (relay, q) => {
  const { spaces } = await relay.files.spaces({ limit: SPACES });
  const pages = await Promise.all(spaces.map(({ space }) => relay.files.list(space, { q, limit: FEW })));
  return pages
    .flatMap((page) => page.files)
    .slice(0, FEW)
    .map(({ space, path }) => ({ title: path, note: space, href: to('files', space, ...path.split('/')) }));
};

const tasks = async (relay: Relay): Promise<readonly Found[]> =>
  (await relay.tasks.list({ limit: 200 })).tasks.map(({ id, summary, state, agent }) => ({
    title: summary ?? id.slice(0, 8),
    note: [state, agent].filter(Boolean).join(', '),
    href: to('tasks', id),
  }));

const runs = async (relay: Relay): Promise<readonly Found[]> =>
  (await relay.threads.runs({ limit: 100 })).runs.map(({ run, pipeline, status }) => ({
    title: pipeline,
    note: `${status}, ${run.slice(0, 8)}`,
    href: to('pipelines', run),
  }));

const channels = async (relay: Relay): Promise<readonly Found[]> =>
  (await relay.channels.list({ limit: 1_000 })).channels.map(({ name }) => ({
    title: name,
    href: to('channels', name),
  }));

const agents = async (relay: Relay): Promise<readonly Found[]> =>
  (await relay.agents.list()).agents.map(({ name, state }) => ({
    title: name,
    note: state ?? 'inbox',
    href: to('agents'),
  }));
