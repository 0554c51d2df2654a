import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { pause } from '../../base/pause.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { MoveStatus } from '../../kernel/moving.ts';
import { Connection, type StreamConfig, type StreamInfo } from './connection.ts';
import type { Folders } from './local-index.ts';

/** Oldest supported version of NATS: the first one with atomic batches. */
const MIN_VERSION = [2, 12] as const;

/**
 * Minimum `max_payload` of the NATS server, in bytes. A message must have room for a chunk with its manifest, or for
 * the largest record with its key.
 */
const MIN_PAYLOAD_BYTES = 768 * 1024;

/** Number of replicas of every stream in a cluster. The cluster then survives the loss of one node. */
const REPLICAS = 3;

/** Maximum time in ms to wait until the streams can be created. A new cluster must elect its leaders first. */
const OPEN_TIMEOUT_MS = 30_000;

/** State that the parts of this engine share. */
export interface Store {
  readonly connection: Connection;
  readonly env: Env;
  readonly limits: EngineLimits;
  /** Name of the store. All its subjects start with it. */
  readonly name: string;
  readonly streams: Streams;
  /** First sequence of the stream of logs. Imported entries have smaller sequences. */
  firstSeq: number;
  readonly folders: Folders;
}

export interface Streams {
  readonly records: string;
  readonly logs: string;
  readonly blobs: string;
  readonly documents: string;
}

/**
 * JetStream deletes a message only this many ms after its expiry, because the clocks of the relay and of NATS
 * may differ.
 */
const SLACK_MS = 60_000;

/** Returns the TTL of a message in seconds, or undefined if it never expires. */
export function ttlOf(expiresAt: number | undefined, now: number): number | undefined {
  return expiresAt === undefined ? undefined : Math.ceil((Math.max(expiresAt - now, 0) + SLACK_MS) / 1000);
}

export interface Address {
  readonly servers: string[];
  /** Name of the store, `relay` by default. */
  readonly name: string;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  readonly tls: boolean;
}

/**
 * Parses an address such as `nats://user:pass@a:4222,b:4222,c:4222/name`. The scheme may also be `tls://`.
 */
export function parseAddress(url: string): Address {
  const match = /^(nats|tls):\/\/(?:([^@/]*)@)?([^/@]+)(?:\/([\w-]{1,32})?)?$/.exec(url);
  const servers = match?.[3]?.split(',').filter(Boolean) ?? [];
  if (
    !match ||
    servers.length === 0 ||
    servers.some((server) => !/^(\[[\da-f:]+\]|[\w.-]+)(:\d+)?$/i.test(server))
  )
    throw new RelayError('bad_config', {
      where: 'engine',
      what: 'it is not the address of a NATS cluster.',
      hint: 'For example: nats://a.example:4222,b.example:4222,c.example:4222',
    });
  const [user, pass] = (match[2] ?? '').split(':').map(decodeURIComponent);
  const login = user ? (pass === undefined ? { token: user } : { user, pass }) : {};
  return { servers, name: match[4] ?? 'relay', tls: match[1] === 'tls', ...login };
}

/** Formats an address without its credentials. */
export function formatAddress({ servers, name, tls }: Address): string {
  return `${tls ? 'tls' : 'nats'}://${servers.join(',')}${name === 'relay' ? '' : `/${name}`}`;
}

/** Connects to the cluster and checks its version, JetStream and `max_payload`. */
export async function connect(address: Address, o: { deadlineMs?: number } = {}): Promise<Connection> {
  const loaded = await import('@nats-io/transport-node');
  // In a bundle the CommonJS module is the default export.
  const { connect: dial, headers } = 'default' in loaded ? (loaded.default as typeof loaded) : loaded;
  const { servers, user, pass, token, tls } = address;
  const nats = await dial({
    servers,
    user,
    pass,
    token,
    ...(tls ? { tls: {} } : {}),
    name: 'contextrelay',
    timeout: 5_000,
    maxReconnectAttempts: -1,
    reconnectToServer: otherServer(),
    reconnectTimeWait: 250,
    // With these settings, if a node hangs or is cut off, the client leaves the node within 4.5 s.
    pingInterval: 1_500,
    maxPingOut: 2,
    noAsyncTraces: true,
  }).catch((error) => {
    throw unusable(address, `it cannot be reached (${(error as Error).message})`, CONNECT_HINT);
  });
  const { version = '0.0', max_payload: payload = 0, jetstream } = nats.info ?? {};
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const refuse = async (what: string, todo: string) => {
    await nats.close();
    throw unusable(address, what, todo);
  };
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1]))
    await refuse(
      `it runs NATS ${version}, but 2.12 or newer is required`,
      'Update nats-server, node by node.',
    );
  if (!jetstream)
    await refuse('JetStream is off', 'Enable it in the configuration of the servers: jetstream { … }.');
  if (payload < MIN_PAYLOAD_BYTES)
    await refuse(
      `its max_payload is ${payload} bytes`,
      `Set max_payload to 1MB. At least ${MIN_PAYLOAD_BYTES} bytes are required.`,
    );
  return new Connection(nats, headers, o.deadlineMs);
}

/**
 * Returns a function that chooses the server for the next connection: any server but the last one. By default the
 * client would try the last server first, and a server that hangs costs 5 s.
 */
function otherServer() {
  let last = '';
  return <S extends { readonly listen: string }>(servers: readonly S[]): S => {
    const others = servers.filter(({ listen }) => listen !== last);
    const next = others[Math.floor(Math.random() * others.length)] ?? servers[0]!;
    last = next.listen;
    return next;
  };
}

export function streamsOf(name: string): Streams {
  return {
    records: `${name}-records`,
    logs: `${name}-logs`,
    blobs: `${name}-blobs`,
    documents: `${name}-documents`,
  };
}

/** Creates the streams that are missing. Returns the number of replicas. */
export async function openStreams(connection: Connection, address: Address): Promise<number> {
  const { name } = address;
  const streams = streamsOf(name);
  const replicas = connection.nats.info?.cluster ? REPLICAS : 1;
  const shared = {
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    num_replicas: replicas,
    allow_direct: true,
    duplicate_window: 120_000_000_000,
    allow_msg_ttl: true,
  };
  const last = { ...shared, discard: 'old', max_msgs_per_subject: 1 };
  const configs: StreamConfig[] = [
    { ...last, name: streams.records, subjects: [`${name}.r.>`, `${name}.t.>`] },
    {
      ...shared,
      name: streams.logs,
      subjects: [`${name}.l.>`, `${name}.i.>`],
      allow_atomic: true,
      republish: { src: `${name}.l.>`, dest: `${name}.live.>` },
    },
    { ...last, name: streams.blobs, subjects: [`${name}.m.>`, `${name}.c.>`] },
    { ...last, name: streams.documents, subjects: [`${name}.d.>`] },
  ];
  const found = await Promise.all(configs.map((config) => openStream(connection, address, config)));
  return Math.min(...found);
}

async function openStream(connection: Connection, address: Address, config: StreamConfig): Promise<number> {
  const until = performance.now() + OPEN_TIMEOUT_MS;
  for (;;) {
    const info = (await connection.api(`STREAM.INFO.${config.name}`)) as unknown as StreamInfo | null;
    const found = info?.config;
    if (found && found.num_replicas >= config.num_replicas) return found.num_replicas;
    try {
      // If a single server has become a cluster, update the stream to more replicas.
      const streamConfig = found ? { ...found, num_replicas: config.num_replicas } : config;
      await connection.api(`STREAM.${found ? 'UPDATE' : 'CREATE'}.${config.name}`, streamConfig);
    } catch (error) {
      // Retry: another server may be creating the stream, or the nodes of the cluster may still be starting.
      if (performance.now() < until) {
        await pause(200);
        continue;
      }
      throw unusable(
        address,
        `the stream ${config.name} cannot be created (${(error as Error).message})`,
        NODES_HINT,
      );
    }
  }
}

const CONNECT_HINT = 'Check that the servers run and that the address, the user and the password are right.';
const NODES_HINT =
  'A cluster needs at least three nodes, all running when the store is created. A single server must not be configured as a cluster.';

function unusable(address: Address, what: string, todo: string): RelayError {
  return new RelayError('cluster_unusable', { url: formatAddress(address), what, todo });
}

/**
 * Metadata keys of a frozen stream. While a stream is frozen, it has other subjects, and JetStream rejects
 * what the relay publishes to the usual subjects. The metadata contains the original configuration. After the
 * freeze has expired, the next writer thaws the stream.
 */
const TO = 'relay_moving_to';
const UNTIL = 'relay_moving_until';
const SUBJECTS = 'relay_subjects';
const REPUBLISH = 'relay_republish';

/** Seconds after which a rejected writer should retry: about the time that copying the last changes takes. */
const MOVING_SECONDS = 5;

/** Returns the configuration of a frozen stream. `ms` is the duration of the freeze; null means forever. */
export function frozenConfig(config: StreamConfig, { to, ms }: MoveStatus): StreamConfig {
  const { name, subjects, republish, metadata } = thawedConfig(config);
  const { republish: _, ...rest } = config;
  return {
    ...rest,
    subjects: [`${name}.frozen`],
    metadata: {
      ...metadata,
      [TO]: to,
      [UNTIL]: ms === null ? '' : String(Date.now() + ms),
      [SUBJECTS]: JSON.stringify(subjects),
      [REPUBLISH]: JSON.stringify(republish ?? null),
    },
  };
}

/** Returns the original configuration of a frozen stream. */
export function thawedConfig(config: StreamConfig): StreamConfig {
  const {
    [TO]: to,
    [UNTIL]: _,
    [SUBJECTS]: subjects,
    [REPUBLISH]: republish,
    ...metadata
  } = config.metadata ?? {};
  if (to === undefined) return config;
  const live = JSON.parse(republish!) as JsonObject | null;
  return { ...config, subjects: JSON.parse(subjects!), ...(live ? { republish: live } : {}), metadata };
}

/**
 * Returns the status of a store's move, from the configuration of its stream: the target, and how long the
 * freeze lasts. Returns null if the store accepts writes or its freeze has expired.
 */
export function parseMoveStatus(config: StreamConfig): MoveStatus | null {
  const { [TO]: to, [UNTIL]: until } = config.metadata ?? {};
  if (to === undefined) return null;
  if (until === '') return { to, ms: null };
  const ms = Number(until) - Date.now();
  return ms <= 0 ? null : { to, ms };
}

/** Returns whether the stream is frozen, even if the freeze has expired. */
export function isFrozen(config: StreamConfig): boolean {
  return config.metadata?.[TO] !== undefined;
}

/** Returns the error for a write to a store that is moving or has moved. */
export function freezeError({ to, ms }: MoveStatus): RelayError {
  return ms === null
    ? new RelayError('store_moved', { to })
    : new RelayError('store_moving', { to, seconds: MOVING_SECONDS });
}
