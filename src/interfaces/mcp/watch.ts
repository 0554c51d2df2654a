import { isJsonObject } from '../../base/json.ts';
import { MCP_WATCHED } from '../../base/limits.ts';
import { channels } from '../../contract/channels.ts';
import { threads as threadVerbs } from '../../contract/threads.ts';
import type { ToolContext } from './tool.ts';
import { readUri } from './uris.ts';

/** Tells of every change of a resource until the signal fires. What cannot change is watched in vain, and rightly so. */
export async function watchResource(
  uri: string,
  context: ToolContext,
  signal: AbortSignal,
  changed: (uri: string) => void,
): Promise<void> {
  const named = readUri(uri);
  try {
    if (named?.kind === 'channel' && context.may(channels.subscribe)) {
      const { client } = await context.open();
      for await (const _message of client.channels.subscribe(named.name, { signal })) changed(uri);
    }
    if (named?.kind === 'state' && context.may(threadVerbs.watch)) {
      const { threads } = (await context.open()).relay;
      const { event_count } = await threads.get(named.id);
      const after = event_count === 0 ? undefined : String(event_count);
      for await (const { type } of threads.watch(named.id, { after, signal })) {
        if (type.startsWith('state.')) changed(uri);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The resources that one client follows. */
export class Watches {
  readonly #context: ToolContext;
  readonly #changed: (uri: string) => void;
  readonly #onError: (error: unknown) => void;
  readonly #stops = new Map<string, AbortController>();

  constructor(context: ToolContext, changed: (uri: string) => void, onError: (error: unknown) => void) {
    this.#context = context;
    this.#changed = changed;
    this.#onError = onError;
  }

  /** `key` is what `remove` takes; the same key again replaces what was watched under it. */
  add(key: string, uris: readonly string[]): void {
    this.remove(key);
    const stop = new AbortController();
    this.#stops.set(key, stop);
    for (const uri of new Set(uris)) {
      watchResource(uri, this.#context, stop.signal, this.#changed).catch(this.#onError);
    }
  }

  remove(key: string): void {
    this.#stops.get(key)?.abort();
    this.#stops.delete(key);
  }

  clear(): void {
    for (const key of [...this.#stops.keys()]) this.remove(key);
  }
}

/** The URIs that a `subscriptions/listen` of the 2026 revision asks to be told of; none for any other message. */
export function listenedTo(message: unknown): string[] {
  if (!isMethod(message, 'subscriptions/listen')) return [];
  const wanted = isJsonObject(message.params) ? message.params.notifications : null;
  const uris = isJsonObject(wanted) ? wanted.resourceSubscriptions : null;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string').slice(0, MCP_WATCHED) : [];
}

export function isMethod(message: unknown, method: string): message is { id?: unknown; params?: unknown } {
  return isJsonObject(message) && message.method === method;
}
