import { waitUntil } from 'cloudflare:workers';
import { systemEnv } from '../../base/env.ts';
import { RelayCore } from '../../domain/relay-core.ts';
import { openCloudflare } from '../../engines/cloudflare/engine.ts';
import type { Bindings } from '../../engines/cloudflare/store-object.ts';
import { workerTextWork } from './worker-text-work.ts';

export interface RelayBindings extends Bindings {
  /** `true`: whoever reaches it may use it, without a key. */
  readonly RELAY_OPEN?: string;
  /** Where pointers say they can be reached; where the request came in by default. */
  readonly RELAY_PUBLIC_URL?: string;
  /** Makes the first key: whoever sends it as a Bearer token is an admin of the relay. */
  readonly RELAY_ADMIN_KEY?: string;
}

export const authOf = ({ RELAY_OPEN }: RelayBindings): 'open' | 'keys' =>
  RELAY_OPEN === 'true' ? 'open' : 'keys';

/**
 * The domain for one request: nothing of it outlives the request, since what one request waits for may end with another on this
 * platform.
 */
export function openWorkerCore(bindings: RelayBindings): RelayCore {
  const engine = openCloudflare({ objects: bindings.STORE, bucket: bindings.BODIES, waitUntil });
  return new RelayCore({ engine, env: systemEnv, texts: workerTextWork }, { auth: authOf(bindings) });
}
