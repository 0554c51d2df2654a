import { waitUntil } from 'cloudflare:workers';
import { systemEnv } from '../../base/env.ts';
import { RelayCore } from '../../domain/relay-core.ts';
import { openCloudflare } from '../../engines/cloudflare/engine.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';
import { workerTextWork } from './worker-text-work.ts';

/**
 * The domain for one request: nothing of it outlives the request, since what one request waits for may end with another on this
 * platform.
 */
export function openWorkerCore(bindings: RelayBindings): RelayCore {
  const engine = openCloudflare({ objects: bindings.STORE, bucket: bindings.BODIES, waitUntil });
  return new RelayCore({ engine, env: systemEnv, texts: workerTextWork }, workerConfig(bindings).core);
}
