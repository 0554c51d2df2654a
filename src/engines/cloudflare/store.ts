import type { R2Bucket } from '@cloudflare/workers-types';
import type { Env } from '../../base/env.ts';
import type { Crc32 } from '../../kernel/block-hashes.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { Calls } from './calls.ts';
import type { ObjectStub } from './store-object.ts';

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
