import { KEYS_MAX, MAX_TTL_MS, PAYLOAD_BYTES } from '../../base/limits.ts';
import type { PlanTable } from '../../domain/usage/plans.ts';
import {
  atLeast,
  type Option,
  type OptionReader,
  oneOf,
  origins,
  text,
  url,
  words,
  yesOrNo,
} from './option-readers.ts';

/** What a server on a network can be told, beside its address. */
export const SERVER_OPTIONS = {
  auth: {
    env: 'RELAY_AUTH',
    default: null,
    read: oneOf('open', 'keys'),
    help: '"keys" or "open"; unless set, open on loopback and keys on every other address',
  },
  plans: {
    env: null,
    default: {},
    read: plans,
    help: 'plans beside free, pro and team: {"name": {"pushes", "pulls", "keys", "payload_bytes", "ttl_seconds"}}',
  },
  default_plan: {
    env: null,
    default: 'free',
    read: text,
    help: 'the plan of a tenant that was given none',
  },
  tls_cert: {
    env: 'RELAY_TLS_CERT',
    default: null,
    read: text,
    help: 'a certificate with its chain, in PEM; the server then speaks https',
  },
  tls_key: { env: 'RELAY_TLS_KEY', default: null, read: text, help: 'the private key of the certificate' },
  trusted_proxies: {
    env: 'RELAY_TRUSTED_PROXIES',
    default: [],
    read: words,
    help: 'proxies whose X-Forwarded-For, -Proto and -Host count: addresses, networks such as 10.0.0.0/8, or "loopback"',
  },
  cors_origins: {
    env: 'RELAY_CORS_ORIGINS',
    default: [],
    read: origins,
    help: 'web pages from elsewhere that may call the relay, such as https://app.example; "*" for all',
  },
  rate_limit_key: {
    env: null,
    default: 100,
    read: atLeast(0),
    help: 'requests a second of one key, where keys are on; 0 for no limit',
  },
  rate_limit_address: {
    env: null,
    default: 50,
    read: atLeast(0),
    help: 'requests a second without a key from one address; 0 for no limit',
  },
  max_connections: {
    env: null,
    default: 20_000,
    read: atLeast(0),
    help: 'connections at once; more are not accepted',
  },
  log_requests: {
    env: 'RELAY_LOG_REQUESTS',
    default: null,
    read: yesOrNo,
    help: 'a log line for every request; unless set, where keys are on',
  },
  otlp_endpoint: {
    env: 'RELAY_OTLP_ENDPOINT',
    default: null,
    read: url,
    help: 'where OpenTelemetry traces are sent (OTLP over HTTP), such as http://127.0.0.1:4318; nowhere unless set',
  },
  metering_file: {
    env: null,
    default: null,
    read: text,
    help: 'a file that usage is appended to, one JSON line per key, operation and day, as it is counted',
  },
  metering_webhook: {
    env: null,
    default: null,
    read: url,
    help: 'an address that the same usage is posted to',
  },
} as const satisfies { [key: string]: Option };

/** Keys, plans, limits and what else a server on a network needs. */
export type ServerConfig = ReturnType<typeof serverConfig>;

export function serverConfig(option: OptionReader<typeof SERVER_OPTIONS>) {
  const unlimited = (perSecond: number) => perSecond || Number.POSITIVE_INFINITY;
  return {
    auth: option('auth'),
    plans: option('plans'),
    defaultPlan: option('default_plan'),
    tlsCert: option('tls_cert'),
    tlsKey: option('tls_key'),
    trustedProxies: option('trusted_proxies'),
    corsOrigins: option('cors_origins'),
    rateLimits: {
      perKey: unlimited(option('rate_limit_key')),
      perAddress: unlimited(option('rate_limit_address')),
    },
    maxConnections: option('max_connections'),
    logRequests: option('log_requests'),
    otlpEndpoint: option('otlp_endpoint'),
    meteringFile: option('metering_file'),
    meteringWebhook: option('metering_webhook'),
  };
}

const FIELDS = ['pushes', 'pulls', 'keys', 'payload_bytes', 'ttl_seconds'];

/** What is not said of a plan is not limited by it, beyond what the relay itself can do. */
function plans(value: unknown): PlanTable {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('it must be an object of plans by name.');
  }
  const table: { [name: string]: PlanTable[string] } = {};
  for (const [name, fields] of Object.entries(value)) {
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
      throw new Error(`${JSON.stringify(name)} is no name for a plan.`);
    table[name] = plan(name, fields);
  }
  return table;
}

function plan(name: string, fields: unknown): PlanTable[string] {
  if (typeof fields !== 'object' || fields === null) throw new Error(`the plan "${name}" must be an object.`);
  const unknown = Object.keys(fields).find((field) => !FIELDS.includes(field));
  if (unknown) throw new Error(`the plan "${name}" has no "${unknown}"; there are ${FIELDS.join(', ')}.`);
  const given = fields as { readonly [field: string]: unknown };
  const number = (field: string, most: number): number | null => {
    const amount = given[field];
    if (amount === undefined || amount === null) return null;
    if (typeof amount === 'number' && Number.isSafeInteger(amount) && amount >= 0 && amount <= most)
      return amount;
    throw new Error(`"${field}" of the plan "${name}" must be a whole number from 0 to ${most}, or null.`);
  };
  return {
    pushes: number('pushes', Number.MAX_SAFE_INTEGER),
    pulls: number('pulls', Number.MAX_SAFE_INTEGER),
    keys: number('keys', KEYS_MAX) ?? KEYS_MAX,
    payloadBytes: number('payload_bytes', PAYLOAD_BYTES) ?? PAYLOAD_BYTES,
    ttlMs: (number('ttl_seconds', MAX_TTL_MS / 1000) ?? MAX_TTL_MS / 1000) * 1000,
  };
}
