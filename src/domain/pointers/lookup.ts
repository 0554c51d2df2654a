import type { Caller } from '../../contract/caller.ts';
import type { Ground } from '../ground.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import { type Loaded, loadOwn, type PointerRecord, recordKey } from './record.ts';

/** What others may know of a pointer, without its payload. */
export class PointerLookup {
  readonly #records: RecordsOf<PointerRecord>;

  constructor(ground: Ground) {
    this.#records = recordsOf(ground.engine.records);
  }

  /** Null where it does not exist, has expired or was revoked. */
  async find(id: string): Promise<PointerRecord | null> {
    return (await this.#records.get(recordKey(id)))?.value ?? null;
  }

  /** Only for its tenant; anyone else is told that there is nothing. */
  own(caller: Caller, id: string): Promise<Loaded> {
    return loadOwn(this.#records, caller, id);
  }
}
