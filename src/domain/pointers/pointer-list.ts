import { badRequest } from '../../base/errors.ts';
import { reaches } from '../../contract/authorize.ts';
import type { CallerAt } from '../../contract/caller.ts';
import { pointerUrl } from '../../contract/pointer-url.ts';
import type { ListedPointer, PointerPage, PointerQuery } from '../../contract/pointers.ts';
import type { Deps } from '../deps.ts';
import { checkCount } from '../names.ts';
import { allRecords, lookedUp, type RecordOf, type RecordsOf, recordsOf } from '../records.ts';
import { describe, keptUntil, type PointerLookup, type PointerRecord } from './record.ts';

const PAGE = 50;
const PAGE_MAX = 200;
/** Entries that one page looks at: with a filter that fits few, it ends before it is full. */
const LOOKED_AT = 2_000;

/** What the list has of each pointer, to choose by without reading its record. */
type Listed = Pick<PointerRecord, 'channel' | 'from' | 'by'>;

const listPrefix = (tenant: string) => `ten.${tenant}/pointers/`;

/** Sorts the newest first: listings run upwards, so the time is counted down. */
const listKey = ({ tenant, created }: PointerRecord, id: string) =>
  `${listPrefix(tenant)}${(2 ** 48 - created).toString(16).padStart(12, '0')}.${id}`;

/** The pointers of each tenant, newest first. An entry that its record does not bear out is passed over. */
export class PointerList {
  readonly #records: RecordsOf<Listed>;
  readonly #lookup: PointerLookup;

  constructor(deps: Deps, lookup: PointerLookup) {
    this.#records = recordsOf(deps.engine.records);
    this.#lookup = lookup;
  }

  /** To be called in the same turn as the record is written, so that an engine with group commit commits both at once. */
  async add(id: string, record: PointerRecord): Promise<void> {
    const { channel, from, by } = record;
    await this.#records.put(listKey(record, id), { channel, from, by }, { expiresAt: keptUntil(record) });
  }

  async remove(id: string, record: PointerRecord): Promise<void> {
    await this.#records.delete(listKey(record, id));
  }

  async page(caller: CallerAt, o: PointerQuery): Promise<PointerPage> {
    const limit = checkCount('limit', o.limit ?? PAGE, PAGE_MAX);
    const prefix = listPrefix(caller.tenant);
    const after = o.after === undefined ? undefined : prefix + checkPlace(o.after);
    const look = async ({ key, value }: RecordOf<Listed>) => {
      const next = key.slice(prefix.length);
      const wanted =
        (o.channel === undefined || value.channel === o.channel) &&
        (o.from === undefined || value.from === o.from);
      if (!wanted || !reaches(caller, value)) return { next };
      const id = next.slice(next.indexOf('.') + 1);
      const record = await this.#lookup.find(id);
      if (!record || listKey(record, id) !== key) return { next };
      return { next, pointer: { ...describe(record, id), url: pointerUrl(caller.base, id) } };
    };
    const pointers: ListedPointer[] = [];
    let looked = 0;
    const entries = allRecords(this.#records, prefix, { after, limit: PAGE_MAX });
    for await (const { next, pointer } of lookedUp(entries, look, limit)) {
      if (pointer) pointers.push(pointer);
      if (pointers.length === limit || ++looked === LOOKED_AT) return { pointers, next };
    }
    return { pointers };
  }
}

function checkPlace(after: string): string {
  if (/^[0-9a-f]{12}\.[0-9a-f-]{36}$/.test(after)) return after;
  throw badRequest('"after" is the "next" of the page before.');
}
