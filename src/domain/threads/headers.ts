import type { Caller } from '../../contract/caller.ts';
import type { Header } from '../../contract/threads/state.ts';
import type { Ground } from '../ground.ts';
import { fromJson, type RecordsOf, recordsOf } from '../records.ts';
import { type StoredEvent, VERSION_EVENTS } from './event.ts';
import { type CountedHeader, makeHeader } from './header.ts';
import { headerKey, logOf } from './keys.ts';
import type { Ledger } from './ledger.ts';
import type { ThreadLog } from './thread-log.ts';

/** A header with the place in the log up to which it holds. */
interface Kept extends CountedHeader {
  readonly version: number;
  readonly seq: number;
}

/** More than this behind the last header, and the thread is folded instead of looking through what came. */
const LOOK = 50;
/** Headers kept in memory; each is 2 KB. */
const KEPT = 1_000;

/** Headers as they are read: worked out once for a version, by whichever process comes first, and kept in a record. */
export class Headers {
  readonly #ground: Ground;
  readonly #records: RecordsOf<Kept>;
  readonly #log: ThreadLog;
  readonly #ledger: Ledger;
  readonly #memory = new Map<string, Kept>();

  constructor(ground: Ground, log: ThreadLog, ledger: Ledger) {
    this.#ground = ground;
    this.#records = recordsOf(ground.engine.records);
    this.#log = log;
    this.#ledger = ledger;
  }

  /** The current header; reading it is written into the ledger. */
  async read(caller: Caller, id: string): Promise<Header> {
    const { header, tokens } = await this.current(caller, id);
    this.#ledger.headerRead(id, tokens);
    return header;
  }

  async current(caller: Caller, id: string): Promise<CountedHeader> {
    await this.#log.meta(caller, id);
    const kept = this.#memory.get(id) ?? (await this.#records.get(headerKey(id)))?.value;
    if (kept) {
      const still = await this.#stillHolds(id, kept);
      if (still) return still;
    }
    const head = await this.#log.head(caller, id);
    const made = await makeHeader(head.state, this.#ground.tokens);
    const fresh: Kept = { ...made, version: head.version, seq: head.seq };
    this.#keep(id, fresh);
    this.#log.background.run(() => this.#records.put(headerKey(id), fresh));
    return fresh;
  }

  forget(id: string): void {
    this.#memory.delete(id);
  }

  /** Whether no event since has made a version. Answers without the state, however large that is. */
  async #stillHolds(id: string, kept: Kept): Promise<Kept | null> {
    const { logs } = this.#ground.engine;
    const { entries } = await logs.read(logOf(id), { after: kept.seq, limit: LOOK });
    if (
      entries.length === LOOK ||
      entries.some(({ data }) => VERSION_EVENTS.has(fromJson<StoredEvent>(data).type))
    )
      return null;
    const seq = entries.at(-1)?.seq ?? kept.seq;
    const moved = seq === kept.seq ? kept : { ...kept, seq };
    this.#keep(id, moved);
    return moved;
  }

  #keep(id: string, kept: Kept): void {
    this.#memory.delete(id);
    this.#memory.set(id, kept);
    if (this.#memory.size > KEPT) this.#memory.delete(this.#memory.keys().next().value!);
  }
}
