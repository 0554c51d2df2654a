import { isJsonObject } from '../../base/json.ts';
import { MCP_WATCHED } from '../../base/limits.ts';
import { channels } from '../../contract/channels.ts';
import { threads as threadVerbs } from '../../contract/threads.ts';
import type { ToolContext } from './tool.ts';
import { readUri } from './uris.ts';

/** Tells of every change of a resource until the signal fires. Of what cannot change there is nothing to tell. */
async function watchResource(
  uri: string,
  context: ToolContext,
  signal: AbortSignal,
  changed: (uri: string) => void,
): Promise<void> {
  const named = readUri(uri);
  try {
    if (named?.kind === 'channel' && context.may(channels.subscribe)) {
      const { client } = await context.open();
      for await (const _message of client.channels.subscribe(named.id, { signal })) changed(uri);
    }
    if (named?.kind === 'thread' && context.may(threadVerbs.watch)) {
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

/** The resources that one client follows. The key of `add` is what `remove` takes; the same key again replaces it. */
export function watchesOf(
  context: ToolContext,
  changed: (uri: string) => void,
  onError: (error: unknown) => void,
) {
  const stops = new Map<string, AbortController>();
  const remove = (key: string) => {
    stops.get(key)?.abort();
    stops.delete(key);
  };
  const add = (key: string, uris: readonly string[]) => {
    remove(key);
    const stop = new AbortController();
    stops.set(key, stop);
    for (const uri of new Set(uris)) watchResource(uri, context, stop.signal, changed).catch(onError);
  };
  return { add, remove, clear: () => [...stops.keys()].forEach(remove) };
}

export type Watches = ReturnType<typeof watchesOf>;

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
