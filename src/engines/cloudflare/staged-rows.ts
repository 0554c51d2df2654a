import type { Staged } from '../../kernel/staged.ts';
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

/**
 * What the write of `name` takes along to its object, where both are written at once or neither is. What lives in another object is
 * stored before that.
 */
export async function bringAlong(
  store: Store,
  name: string,
  staged: readonly StagedRow[] = [],
): Promise<Brought | undefined> {
  const rows = staged.filter(({ body, value }) => body !== undefined || value !== undefined);
  if (rows.length === 0) return undefined;
  const object = objectOf(name);
  const own = rows.filter(({ key }) => objectOf(key) === object);
  const others = rows.filter(({ key }) => objectOf(key) !== object);
  await Promise.all(others.map((row) => storeAlone(store, row)));
  return {
    bodies: own.flatMap(({ body }) => body ?? []),
    records: own.flatMap(({ key, value }) => (value === undefined ? [] : { key, value })),
  };
}

async function storeAlone(store: Store, { key, body, value }: StagedRow): Promise<void> {
  if (body !== undefined) await store.object(key).putBody(body);
  else await store.calls.ask(objectOf(key), 'putRecord', key, value!, { now: store.env.now() });
}
