import type { R2Bucket } from '@cloudflare/workers-types';
import type { Env } from '../../base/env.ts';
import type { Crc32 } from '../../kernel/block-hashes.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { Staged } from '../../kernel/records.ts';
import type { BodyRow } from './body-rows.ts';
import type { Calls } from './calls.ts';
import { objectOf } from './objects.ts';
import type { Brought, ObjectStub } from './store-object.ts';

/** What the ports of this engine share. */
export interface Store {
  readonly env: Env;
  readonly limits: EngineLimits;
  readonly bucket: R2Bucket;
  readonly crc32: Crc32 | undefined;
  /** Calls of objects by their names; those of one turn travel together. */
  readonly calls: Calls;
  /** The object in which a key, a prefix or a stream lives. */
  object(name: string): ObjectStub;
  /** Every object that holds anything, each once. */
  objects(): AsyncIterable<ObjectStub>;
  /** Keeps a request going for what it does at its end. */
  waitUntil(work: Promise<unknown>): void;
  /** Fires when the engine is closed. */
  readonly closed: AbortSignal;
}

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
