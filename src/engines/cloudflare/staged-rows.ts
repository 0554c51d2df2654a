import type { Staged } from '../../kernel/records.ts';
import type { BodyRow } from './body-rows.ts';
import type { Brought } from './object-calls.ts';
import { objectOf } from './objects.ts';
import type { Store } from './store.ts';

/** Small writes that are kept back until the write comes that names them. Anything else that is staged is stored already. */
export interface StagedRow extends Staged {
  readonly body?: BodyRow;
  /** JSON. */
  readonly value?: string;
}

/** What the write of `name` takes along to its object, where both are written at once or neither is. */
export function broughtTo(name: string, staged: readonly StagedRow[] = []): Brought | undefined {
  const own = staged.filter((row) => isKeptBack(row) && objectOf(row.key) === objectOf(name));
  if (own.length === 0) return undefined;
  return {
    bodies: own.flatMap(({ body }) => body ?? []),
    records: own.flatMap(({ key, value }) => (value === undefined ? [] : { key, value })),
  };
}

/** Stores what lives in another object than the write that names it, before that. Null where there is nothing to wait for: a write then goes in the turn in which it was asked for. */
export function storeOthers(
  store: Store,
  name: string,
  staged: readonly StagedRow[] = [],
): Promise<unknown> | null {
  const others = staged.filter((row) => isKeptBack(row) && objectOf(row.key) !== objectOf(name));
  return others.length === 0 ? null : Promise.all(others.map((row) => storeAlone(store, row)));
}

const isKeptBack = ({ body, value }: StagedRow) => body !== undefined || value !== undefined;

async function storeAlone(store: Store, { key, body, value }: StagedRow): Promise<void> {
  if (body !== undefined) await store.calls.ask(objectOf(key), 'putBody', body);
  else await store.calls.ask(objectOf(key), 'putRecord', key, value!, { now: store.env.now() });
}
