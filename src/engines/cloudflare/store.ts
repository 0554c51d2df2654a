import type { R2Bucket } from '@cloudflare/workers-types';
import type { Env } from '../../base/env.ts';
import type { Crc32 } from '../../kernel/block-hashes.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { Staged } from '../../kernel/records.ts';
import type { BodyRow } from './body-rows.ts';
import type { Calls } from './calls.ts';
import { objectOf } from './objects.ts';
import type { AttachedRows, ObjectStub } from './store-object.ts';

/** State that the ports of this engine share. */
export interface Store {
  readonly env: Env;
  readonly limits: EngineLimits;
  readonly bucket: R2Bucket;
  readonly crc32: Crc32 | undefined;
  /** Batches the calls to Durable Objects of one turn of the event loop. */
  readonly calls: Calls;
  /** Returns the Durable Object that stores a key, a prefix or a log. */
  object(name: string): ObjectStub;
  /** Yields every Durable Object that has data. */
  objects(): AsyncIterable<ObjectStub>;
  /** Keeps the request alive until the work is done. */
  waitUntil(work: Promise<unknown>): void;
  /** Aborts when the engine is closed. */
  readonly closed: AbortSignal;
}

/**
 * A staged row, which is kept in memory until the write that lists it in `with`. A staged large blob has neither `body`
 * nor `value`, because its bytes and its row are already stored.
 */
export interface StagedRow extends Staged {
  readonly body?: BodyRow;
  /** JSON text of a record. */
  readonly value?: string;
}

/**
 * Returns the staged rows that the object of `name` stores. They are committed in one call with the write to `name`.
 */
export function rowsInSameObject(name: string, staged: readonly StagedRow[] = []): AttachedRows | undefined {
  const own = staged.filter((row) => isInMemory(row) && objectOf(row.key) === objectOf(name));
  if (own.length === 0) return undefined;
  return {
    bodies: own.flatMap(({ body }) => body ?? []),
    records: own.flatMap(({ key, value }) => (value === undefined ? [] : { key, value })),
  };
}

/**
 * Stores the staged rows that belong to other objects than `name`. Returns null if there are none: the caller then
 * does not await, so that its write joins the batch of this turn.
 */
export function storeInOtherObjects(
  store: Store,
  name: string,
  staged: readonly StagedRow[] = [],
): Promise<unknown> | null {
  const others = staged.filter((row) => isInMemory(row) && objectOf(row.key) !== objectOf(name));
  return others.length === 0 ? null : Promise.all(others.map((row) => storeAlone(store, row)));
}

const isInMemory = ({ body, value }: StagedRow) => body !== undefined || value !== undefined;

async function storeAlone(store: Store, { key, body, value }: StagedRow): Promise<void> {
  if (body !== undefined) await store.calls.ask(objectOf(key), 'putBody', body);
  else await store.calls.ask(objectOf(key), 'putRecord', key, value!, { now: store.env.now() });
}
