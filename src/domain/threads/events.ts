import { RelayError } from '../../base/errors.ts';
import { PAGE_ITEMS_MAX } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { ThreadEvent } from '../../contract/threads/answers.ts';
import type { Deps } from '../deps.ts';
import { fromJson } from '../records.ts';
import { toWire } from './event.ts';
import { logOf } from './keys.ts';
import { bytesOf } from './state.ts';
import type { ThreadLog } from './thread-log.ts';

/** A page of events is cut off here, whatever its limit: one event may carry a megabyte of operations. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** How many places are remembered where readers left off, so that their next page begins there. */
const PLACES = 1_000;

interface Place {
  readonly seq: number;
  readonly count: number;
}

/** A thread's log as others see it. */
export class Events {
  readonly #deps: Deps;
  readonly #log: ThreadLog;
  readonly #places = new Map<string, Place>();

  constructor(deps: Deps, log: ThreadLog) {
    this.#deps = deps;
    this.#log = log;
  }

  /** Oldest first, behind the event whose id is `after`. `next` is there when there are more. */
  async list(
    caller: Caller,
    id: string,
    o: { after?: string; limit?: number } = {},
  ): Promise<{ events: ThreadEvent[]; next?: string }> {
    await this.#log.meta(caller, id);
    const limit = o.limit ?? PAGE_ITEMS_MAX;
    const events: ThreadEvent[] = [];
    let bytes = 0;
    let last = 0;
    for await (const { place, event } of this.#from(id, parseEventId(o.after))) {
      if (events.length === limit || (bytes > PAGE_BYTES && events.length > 0)) {
        return { events, next: String(last) };
      }
      events.push(event);
      bytes += bytesOf(event.payload);
      last = place.count;
      this.#remember(id, place);
    }
    return { events };
  }

  /** Replays from behind `after`, then goes live, until the signal fires. */
  async *watch(
    caller: Caller,
    id: string,
    o: { after?: string; signal: AbortSignal },
  ): AsyncGenerator<ThreadEvent> {
    await this.#log.meta(caller, id);
    const after = parseEventId(o.after);
    const place = await this.#near(id, after);
    let { count } = place;
    const { logs } = this.#deps.engine;
    for await (const entry of logs.subscribe(logOf(id), { after: place.seq, signal: o.signal })) {
      count++;
      if (count <= after) continue;
      yield toWire(id, count, await this.#log.heads.whole(fromJson(entry.data)));
    }
  }

  async *#from(id: string, after: number): AsyncGenerator<{ place: Place; event: ThreadEvent }> {
    const start = await this.#near(id, after);
    let { count } = start;
    for await (const { seq, event } of this.#log.heads.events(id, start.seq)) {
      count++;
      if (count > after) yield { place: { seq, count }, event: toWire(id, count, event) };
    }
  }

  async #near(id: string, after: number): Promise<Place> {
    const known = await this.#log.heads.placeOf(id, after);
    const left = this.#places.get(id);
    return left && left.count <= after && left.count > known.count ? left : known;
  }

  #remember(id: string, place: Place): void {
    this.#places.delete(id);
    this.#places.set(id, place);
    if (this.#places.size > PLACES) this.#places.delete(this.#places.keys().next().value!);
  }

  forget(id: string): void {
    this.#places.delete(id);
  }
}

function parseEventId(text: string | undefined): number {
  if (text === undefined || text === '') return 0;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new RelayError('bad_request', { what: `"${text.slice(0, 40)}" is not the id of an event.` });
}
