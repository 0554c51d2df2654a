import { InMemoryDB, InMemoryMemory, MemoryStorage } from '@mastra/core/storage';
import { isRelayError } from '../../base/errors.ts';
import type { FileSpace } from '../../sdk/files.ts';
import { filesBelow, segment } from '../file-names.ts';

type Kind = 'threads' | 'messages' | 'resources';
type Args<M extends keyof InMemoryMemory> = InMemoryMemory[M] extends (...args: infer A) => unknown
  ? A
  : never;
type Row = { readonly id: string };

/** Ids of the threads, messages and resources that a call may read or write. `all` means any of them. */
interface Touched {
  readonly threads?: readonly string[] | 'all';
  readonly messages?: readonly string[] | 'all';
  readonly resources?: readonly string[];
}

/** Data that each method may read or write. Mastra treats a method that is not listed here as unsupported. */
const TOUCHED: { readonly [M in keyof InMemoryMemory]?: (...args: Args<M>) => Touched } = {
  getThreadById: ({ threadId }) => ({ threads: [threadId] }),
  saveThread: ({ thread }) => ({ threads: [thread.id] }),
  updateThread: ({ id }) => ({ threads: [id] }),
  listThreads: () => ({ threads: 'all' }),
  cloneThread: ({ sourceThreadId, newThreadId }) => {
    const threads = newThreadId ? [sourceThreadId, newThreadId] : [sourceThreadId];
    return { threads, messages: threads };
  },
  // `include` may name messages of any thread, so all messages are read.
  listMessages: ({ threadId, include }) => ({ messages: include?.length ? 'all' : [threadId].flat() }),
  listMessagesByResourceId: () => ({ messages: 'all' }),
  listMessagesById: () => ({ messages: 'all' }),
  saveMessages: ({ messages }) => {
    const threads = [...new Set(messages.flatMap(({ threadId }) => (threadId ? [threadId] : [])))];
    return { threads, messages: threads };
  },
  updateMessages: () => ({ threads: 'all', messages: 'all' }),
  deleteMessages: () => ({ threads: 'all', messages: 'all' }),
  getResourceById: ({ resourceId }) => ({ resources: [resourceId] }),
  saveResource: ({ resource }) => ({ resources: [resource.id] }),
  updateResource: ({ resourceId }) => ({ resources: [resourceId] }),
};

/**
 * Stores Mastra's conversations as files: `threads/<id>`, `messages/<thread>/<id>`, `resources/<id>`. A call
 * reads the files that it may need, runs the framework's in-memory implementation, and writes what changed.
 * If another process wrote one of these files meanwhile, the call is repeated. A call that names no thread,
 * such as reading messages by id, reads all messages.
 */
export function relayMemory(files: FileSpace): MemoryStorage {
  const stored = new MemoryFiles(files);
  const Base = MemoryStorage as unknown as new () => MemoryStorage;
  return new Proxy(new Base(), {
    get(memory, name) {
      if (name === 'deleteThread' || name === 'dangerouslyClearAll') return stored[name].bind(stored);
      const touched = TOUCHED[name as keyof InMemoryMemory] as ((...args: unknown[]) => Touched) | undefined;
      const value = Reflect.get(memory, name, memory);
      if (!touched) return typeof value === 'function' ? value.bind(memory) : value;
      return (...args: unknown[]) =>
        stored.run(touched(...args), (loaded) => Reflect.get(loaded, name, loaded).apply(loaded, args));
    },
  });
}

class MemoryFiles {
  readonly #files: FileSpace;

  constructor(files: FileSpace) {
    this.#files = files;
  }

  async deleteThread({ threadId }: Args<'deleteThread'>[0]): Promise<void> {
    await this.#files.remove({ paths: [`threads/${await segment(threadId)}`] });
    await this.#files.remove({ prefix: `messages/${await segment(threadId)}/` });
  }

  async dangerouslyClearAll(): Promise<void> {
    for (const kind of ['threads', 'messages', 'resources']) await this.#files.remove({ prefix: `${kind}/` });
  }

  async run<T>(touched: Touched, work: (memory: InMemoryMemory) => Promise<T>): Promise<T> {
    for (;;) {
      const db = new InMemoryDB();
      const before = await this.#load(db, touched);
      const result = await work(new InMemoryMemory({ db }));
      try {
        await this.#save(db, before);
        return result;
      } catch (error) {
        if (!isRelayError(error, 'file_changed')) throw error;
      }
    }
  }

  /**
   * Fills `db` with the content of all files that a call may use. Returns these files by path, in the state
   * before the call.
   */
  async #load(
    db: InMemoryDB,
    { threads = [], messages = [], resources = [] }: Touched,
  ): Promise<Map<string, Loaded>> {
    const named = async (kind: Kind, ids: readonly string[]) =>
      Promise.all(ids.map(async (id) => `${kind}/${await segment(id)}`));
    const below = async (prefix: string) => (await filesBelow(this.#files, prefix)).map(({ path }) => path);
    const paths = await named('resources', resources);
    paths.push(...(threads === 'all' ? await below('threads/') : await named('threads', threads)));
    for (const folder of messages === 'all' ? ['messages'] : await named('messages', messages))
      paths.push(...(await below(`${folder}/`)));
    const found = await this.#files.read([...new Set(paths)]);
    const before = new Map<string, Loaded>();
    for (const [path, { file, text }] of found) {
      const row = JSON.parse(text(), revived);
      before.set(path, { etag: file.etag, text: text() });
      (db[path.split('/')[0] as Kind] as Map<string, Row>).set(row.id, row);
    }
    return before;
  }

  async #save(db: InMemoryDB, before: Map<string, Loaded>): Promise<void> {
    const removedPaths = new Set(before.keys());
    // Write messages before threads, so that a thread never refers to messages that are missing.
    for (const kind of ['messages', 'resources', 'threads'] as const) {
      for (const row of (db[kind] as Map<string, Row>).values()) {
        const path = await pathOf(kind, row);
        const text = JSON.stringify(row);
        const stored = before.get(path);
        removedPaths.delete(path);
        if (stored?.text === text) continue;
        const condition = stored ? { ifMatch: stored.etag } : { ifAbsent: true };
        await this.#files.put(path, text, { contentType: 'application/json', keep: 0, ...condition });
      }
    }
    if (removedPaths.size > 0) await this.#files.remove({ paths: [...removedPaths] });
  }
}

interface Loaded {
  readonly etag: string;
  readonly text: string;
}

async function pathOf(kind: Kind, row: Row): Promise<string> {
  if (kind !== 'messages') return `${kind}/${await segment(row.id)}`;
  const { thread_id } = row as Row & { thread_id: string };
  return `messages/${await segment(thread_id)}/${await segment(row.id)}`;
}

/** Parses dates in fields that contain dates. Other texts stay texts, even if they look like dates. */
function revived(name: string, value: unknown): unknown {
  return (name === 'createdAt' || name === 'updatedAt') && typeof value === 'string'
    ? new Date(value)
    : value;
}
