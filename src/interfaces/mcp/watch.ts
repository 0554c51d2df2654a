import { channels } from '../../contract/channels.ts';
import { threads as threadVerbs } from '../../contract/threads.ts';
import type { Desk } from './desk.ts';
import { readUri } from './uris.ts';

/** Tells of every change of a resource until the signal fires. What cannot change is watched in vain, and rightly so. */
export async function watchResource(
  uri: string,
  desk: Desk,
  signal: AbortSignal,
  changed: (uri: string) => void,
): Promise<void> {
  const named = readUri(uri);
  try {
    if (named?.kind === 'channel' && desk.may(channels.subscribe)) {
      const { client } = await desk.open();
      for await (const _message of client.channels.subscribe(named.name, { signal })) changed(uri);
    }
    if (named?.kind === 'state' && desk.may(threadVerbs.watch)) {
      const { threads } = (await desk.open()).relay;
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
  readonly #desk: Desk;
  readonly #changed: (uri: string) => void;
  readonly #onError: (error: unknown) => void;
  readonly #stops = new Map<string, AbortController>();

  constructor(desk: Desk, changed: (uri: string) => void, onError: (error: unknown) => void) {
    this.#desk = desk;
    this.#changed = changed;
    this.#onError = onError;
  }

  /** `key` is what `remove` takes; the same key again replaces what was watched under it. */
  add(key: string, uris: readonly string[]): void {
    this.remove(key);
    const stop = new AbortController();
    this.#stops.set(key, stop);
    for (const uri of new Set(uris)) {
      watchResource(uri, this.#desk, stop.signal, this.#changed).catch(this.#onError);
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
