import type { R2Bucket } from '@cloudflare/workers-types';
import { RelayError } from '../../base/errors.ts';
import {
  CHANNEL_MESSAGES,
  CHANNEL_RETENTION_MS,
  HEADER_TEXT_BYTES,
  LEASE_MS,
  WORKER_TEXT_BYTES,
} from '../../base/limits.ts';
import type { CoreOptions } from '../../domain/relay-core.ts';
import type { FormerObjects } from '../../engines/cloudflare/former-store.ts';
import type { RateLimits } from '../../interfaces/http/rate-limit.ts';
import { atLeast, origins, plans, text, url, wordList, yesOrNo } from '../option-readers.ts';
import type { TenantObjects } from './tenant-routing.ts';

/** Bindings of the Worker: storage, dashboard files and variables. All variables are strings. */
export interface RelayBindings {
  readonly TENANTS: TenantObjects;
  /** Objects of an earlier version, whose data is moved. */
  readonly STORE?: FormerObjects;
  readonly BODIES: R2Bucket;
  /** Dashboard files. Absent if the Worker was configured without them. */
  readonly ASSETS?: { fetch(url: string): Promise<Response> };
  /** If `true`, every client can use the relay without an API key. */
  readonly RELAY_OPEN?: string;
  /**
   * Admin key. A client that sends it as Bearer token is an admin of the relay. It is needed to create the
   * first API key.
   */
  readonly RELAY_ADMIN_KEY?: string;
  /** Base URL of pointers. By default the URL of the request is used. */
  readonly RELAY_PUBLIC_URL?: string;
  /** Host names that an open relay accepts in addition to loopback. By default it accepts every name. */
  readonly RELAY_ALLOWED_HOSTS?: string;
  readonly RELAY_CORS_ORIGINS?: string;
  /** Additional plans as JSON. `free`, `pro`, `team` and `unlimited` always exist. */
  readonly RELAY_PLANS?: string;
  readonly RELAY_DEFAULT_PLAN?: string;
  /** Number of seconds for which a channel keeps messages. */
  readonly RELAY_CHANNEL_RETENTION?: string;
  /** Maximum number of messages in a channel. */
  readonly RELAY_CHANNEL_MESSAGES?: string;
  /** Duration of a group lease, in seconds. */
  readonly RELAY_GROUP_LEASE?: string;
  /** Maximum number of bytes of a payload that one request reads to count its tokens or to find a part. */
  readonly RELAY_TEXT_BYTES?: string;
  /** Maximum number of requests per second of one API key, in a relay with keys. 0 means no limit. */
  readonly RELAY_RATE_LIMIT_KEY?: string;
  /** Maximum number of requests per second of one client address, in a relay with keys. 0 means no limit. */
  readonly RELAY_RATE_LIMIT_ADDRESS?: string;
  /** Maximum number of requests per second of one tenant, in a relay with keys. 0 means no limit. */
  readonly RELAY_RATE_LIMIT_TENANT?: string;
}

export interface WorkerConfig {
  readonly auth: 'open' | 'keys';
  readonly publicUrl: string | null;
  readonly allowedHosts: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly rateLimits: RateLimits;
  readonly channels: { readonly retentionMs: number; readonly messages: number; readonly leaseMs: number };
  readonly textBytes: number;
  readonly core: CoreOptions;
}

const configs = new WeakMap<RelayBindings, WorkerConfig>();

/**
 * Reads the configuration from the variables. Syntax and defaults are the same as for the server
 * (`src/app/config.ts`).
 */
export function workerConfig(bindings: RelayBindings): WorkerConfig {
  const config = configs.get(bindings) ?? readConfig(bindings);
  configs.set(bindings, config);
  return config;
}

function readConfig(bindings: RelayBindings): WorkerConfig {
  const option = <T>(
    name: `RELAY_${string}` & keyof RelayBindings,
    read: (value: unknown) => T,
    fallback: T,
  ): T => {
    const value = bindings[name];
    if (!value) return fallback;
    try {
      return read(value);
    } catch (error) {
      throw new RelayError('bad_config', { where: name, what: (error as Error).message });
    }
  };
  const limit = (name: `RELAY_RATE_LIMIT_${string}` & keyof RelayBindings, fallback: number) =>
    option(name, atLeast(0), fallback) || Number.POSITIVE_INFINITY;
  const auth = option('RELAY_OPEN', yesOrNo, false) ? 'open' : 'keys';
  const channels = {
    retentionMs: option('RELAY_CHANNEL_RETENTION', atLeast(1), CHANNEL_RETENTION_MS / 1000) * 1000,
    messages: option('RELAY_CHANNEL_MESSAGES', atLeast(1), CHANNEL_MESSAGES),
    leaseMs: option('RELAY_GROUP_LEASE', atLeast(1), LEASE_MS / 1000) * 1000,
  };
  return {
    auth,
    channels,
    publicUrl: option('RELAY_PUBLIC_URL', url, null as string | null),
    allowedHosts: option('RELAY_ALLOWED_HOSTS', wordList, ['*']),
    corsOrigins: option('RELAY_CORS_ORIGINS', origins, []),
    rateLimits: {
      perKey: limit('RELAY_RATE_LIMIT_KEY', 100),
      perAddress: limit('RELAY_RATE_LIMIT_ADDRESS', 50),
      perTenant: limit('RELAY_RATE_LIMIT_TENANT', 500),
    },
    // The minimum is the size of a thread's header, so that the tokens of a header are always counted
    // exactly.
    textBytes: option('RELAY_TEXT_BYTES', atLeast(HEADER_TEXT_BYTES), WORKER_TEXT_BYTES),
    core: {
      auth,
      plans: option('RELAY_PLANS', (value) => plans(JSON.parse(text(value))), {}),
      defaultPlan: option('RELAY_DEFAULT_PLAN', text, 'free'),
      channels,
    },
  };
}
