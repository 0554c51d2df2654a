import type { Caller } from '../../contract/caller.ts';
import type { Ground } from '../ground.ts';
import { type Loaded, loadOwn, type PointerRecord, recordKey } from './record.ts';

/** What others may know of a pointer, without its payload. */
export class PointerLookup {
  readonly #ground: Ground;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** Null where it does not exist, has expired or was revoked. */
  async find(id: string): Promise<PointerRecord | null> {
    const stored = await this.#ground.engine.records.get(recordKey(id));
    return (stored?.value as unknown as PointerRecord | undefined) ?? null;
  }

  /** Only for its tenant; anyone else is told that there is nothing. */
  own(caller: Caller, id: string): Promise<Loaded> {
    return loadOwn(this.#ground.engine.records, caller, id);
  }
}
