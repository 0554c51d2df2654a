import { RelayError } from '../../base/errors.ts';
import {
  CHANNEL_MESSAGES,
  CHANNEL_RETENTION_MS,
  HEADER_TEXT_BYTES,
  LEASE_MS,
  WORKER_TEXT_BYTES,
} from '../../base/limits.ts';
import type { CoreOptions } from '../../domain/relay-core.ts';
import type { Bindings } from '../../engines/cloudflare/store-object.ts';
import type { RateLimits } from '../../interfaces/http/rate-limit.ts';
import { atLeast, origins, plans, text, url, wordList, yesOrNo } from '../option-readers.ts';

/** What the Worker is given by its configuration: where to keep things, its pages, and variables, all of them texts. */
export interface RelayBindings extends Bindings {
  /** The pages as they were built; absent where the Worker was configured without them. */
  readonly ASSETS?: { fetch(url: string): Promise<Response> };
  /** `true`: whoever reaches it may use it, without a key. */
  readonly RELAY_OPEN?: string;
  /** Makes the first key: whoever sends it as a Bearer token is an admin of the relay. */
  readonly RELAY_ADMIN_KEY?: string;
  /** Where pointers say they can be reached; where the request came in by default. */
  readonly RELAY_PUBLIC_URL?: string;
  /** Names that an open relay answers to besides loopback; every name by default, since it has any that leads to it. */
  readonly RELAY_ALLOWED_HOSTS?: string;
  readonly RELAY_CORS_ORIGINS?: string;
  /** Plans beside free, pro and team, as JSON. */
  readonly RELAY_PLANS?: string;
  readonly RELAY_DEFAULT_PLAN?: string;
  /** Seconds. */
  readonly RELAY_CHANNEL_RETENTION?: string;
  readonly RELAY_CHANNEL_MESSAGES?: string;
  /** Seconds. */
  readonly RELAY_GROUP_LEASE?: string;
  /** How many bytes of a body one request may count tokens of, or look through for a part. */
  readonly RELAY_TEXT_BYTES?: string;
  /** Requests a second, where keys are asked for; 0 for no limit. */
  readonly RELAY_RATE_LIMIT_KEY?: string;
  readonly RELAY_RATE_LIMIT_ADDRESS?: string;
  readonly RELAY_RATE_LIMIT_TENANT?: string;
  /** Calls that the platform lets a request make. */
  readonly RELAY_CALLS?: string;
}

export interface WorkerConfig {
  readonly auth: 'open' | 'keys';
  readonly publicUrl: string | null;
  readonly allowedHosts: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly rateLimits: RateLimits;
  readonly channels: { readonly retentionMs: number; readonly messages: number; readonly leaseMs: number };
  /** What a request may call; streams end before. */
  readonly calls: number;
  readonly textBytes: number;
  readonly core: CoreOptions;
}

/** On the free plan. */
const CALLS = 50;

const known = new WeakMap<RelayBindings, WorkerConfig>();

/** What the variables say, in the forms and with the defaults that a server's options have (`src/app/config.ts`). */
export function workerConfig(bindings: RelayBindings): WorkerConfig {
  const config = known.get(bindings) ?? readConfig(bindings);
  known.set(bindings, config);
  return config;
}

function readConfig(bindings: RelayBindings): WorkerConfig {
  const option = <T>(
    name: `RELAY_${string}` & keyof RelayBindings,
    read: (value: unknown) => T,
    or: T,
  ): T => {
    const value = bindings[name];
    if (!value) return or;
    try {
      return read(value);
    } catch (error) {
      throw new RelayError('bad_config', { where: name, what: (error as Error).message });
    }
  };
  const limit = (name: `RELAY_RATE_LIMIT_${string}` & keyof RelayBindings, or: number) =>
    option(name, atLeast(0), or) || Number.POSITIVE_INFINITY;
  const auth = option('RELAY_OPEN', yesOrNo, false) ? 'open' : 'keys';
  const channels = {
    retentionMs: option('RELAY_CHANNEL_RETENTION', atLeast(1), CHANNEL_RETENTION_MS / 1000) * 1000,
    messages: option('RELAY_CHANNEL_MESSAGES', atLeast(1), CHANNEL_MESSAGES),
    leaseMs: option('RELAY_GROUP_LEASE', atLeast(1), LEASE_MS / 1000) * 1000,
  };
  return {
    auth,
    channels,
    calls: option('RELAY_CALLS', atLeast(CALLS), CALLS),
    publicUrl: option('RELAY_PUBLIC_URL', url, null as string | null),
    allowedHosts: option('RELAY_ALLOWED_HOSTS', wordList, ['*']),
    corsOrigins: option('RELAY_CORS_ORIGINS', origins, []),
    rateLimits: {
      perKey: limit('RELAY_RATE_LIMIT_KEY', 100),
      perAddress: limit('RELAY_RATE_LIMIT_ADDRESS', 50),
      perTenant: limit('RELAY_RATE_LIMIT_TENANT', 500),
    },
    // The header of a thread is counted to the token, whatever this is.
    textBytes: option('RELAY_TEXT_BYTES', atLeast(HEADER_TEXT_BYTES), WORKER_TEXT_BYTES),
    core: {
      auth,
      plans: option('RELAY_PLANS', (value) => plans(JSON.parse(text(value))), {}),
      defaultPlan: option('RELAY_DEFAULT_PLAN', text, 'free'),
      channels,
    },
  };
}
