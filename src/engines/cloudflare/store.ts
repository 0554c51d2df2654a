import type { R2Bucket } from '@cloudflare/workers-types';
import type { Env } from '../../base/env.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { Reads } from './reads.ts';
import type { ObjectStub } from './store-object.ts';

/** What the ports of this engine share. */
export interface Store {
  readonly env: Env;
  readonly limits: EngineLimits;
  readonly bucket: R2Bucket;
  /** Reads of the object in which a name lives; many at once make one call. */
  readonly reads: Reads;
  /** The object in which a key, a prefix or a stream lives. */
  object(name: string): ObjectStub;
  /** Every object that holds anything, each once. */
  objects(): AsyncIterable<ObjectStub>;
  /** Fires when the engine is closed. */
  readonly closed: AbortSignal;
}
