import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { pause } from '../../base/pause.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { MoveStatus } from '../../kernel/moving.ts';
import { Connection } from './connection.ts';
import type { Folders } from './local-index.ts';

/** The first version with atomic batches. */
const OLDEST = [2, 12] as const;

/** A message must hold a chunk with its manifest, and the largest record with its key. */
const LEAST_PAYLOAD = 768 * 1024;

/** How many copies of everything a cluster keeps: it goes on without one of three nodes. */
const REPLICAS = 3;

/** A cluster that has just been started elects its leaders first. */
const PATIENCE_MS = 30_000;

/** What the parts of the engine share. */
export interface Store {
  readonly connection: Connection;
  readonly env: Env;
  readonly limits: EngineLimits;
  /** The name of the store, with which all of its subjects begin. */
  readonly name: string;
  readonly streams: Streams;
  /** The first sequence of the logs: what came from another store has kept sequences below it. */
  firstSeq: number;
  readonly folders: Folders;
}

export interface Streams {
  readonly records: string;
  readonly logs: string;
  readonly blobs: string;
  readonly documents: string;
}

/** How long the server keeps what has expired by our clock, since clocks may differ. */
const SLACK_MS = 60_000;

/** The seconds that a message may stay; undefined for ever. */
export function ttlOf(expiresAt: number | undefined, now: number): number | undefined {
  return expiresAt === undefined ? undefined : Math.ceil((Math.max(expiresAt - now, 0) + SLACK_MS) / 1000);
}

export interface Address {
  readonly servers: string[];
  /** The name of the store, `relay` by default. */
  readonly name: string;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  readonly tls: boolean;
}

/** Reads `nats://user:pass@a:4222,b:4222,c:4222/name`, or `tls://…`. */
export function parseAddress(url: string): Address {
  const found = /^(nats|tls):\/\/(?:([^@/]*)@)?([^/@]+)(?:\/([\w-]{1,32})?)?$/.exec(url);
  const servers = found?.[3]?.split(',').filter(Boolean) ?? [];
  if (
    !found ||
    servers.length === 0 ||
    servers.some((server) => !/^(\[[\da-f:]+\]|[\w.-]+)(:\d+)?$/i.test(server))
  )
    throw new RelayError('bad_config', {
      where: 'engine',
      what: 'it is not the address of a NATS cluster.',
      hint: 'For example: nats://a.example:4222,b.example:4222,c.example:4222',
    });
  const [user, pass] = (found[2] ?? '').split(':').map(decodeURIComponent);
  const login = user ? (pass === undefined ? { token: user } : { user, pass }) : {};
  return { servers, name: found[4] ?? 'relay', tls: found[1] === 'tls', ...login };
}

/** An address without what is secret in it. */
export function shownAddress({ servers, name, tls }: Address): string {
  return `${tls ? 'tls' : 'nats'}://${servers.join(',')}${name === 'relay' ? '' : `/${name}`}`;
}

/** Connects and sees that the servers are new enough. */
export async function connect(address: Address, o: { deadlineMs?: number } = {}): Promise<Connection> {
  const loaded = await import('@nats-io/transport-node');
  // Bundled, it comes as the one export that a CommonJS module has.
  const { connect: dial, headers } = 'default' in loaded ? (loaded.default as typeof loaded) : loaded;
  const { servers, user, pass, token, tls } = address;
  const nats = await dial({
    ...{ servers, user, pass, token },
    ...(tls ? { tls: {} } : {}),
    name: 'contextrelay',
    timeout: 5_000,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    // A node that is frozen or cut off is left for another within nine seconds.
    pingInterval: 3_000,
    maxPingOut: 2,
    noAsyncTraces: true,
  }).catch((error) => {
    throw unusable(address, `it cannot be reached (${(error as Error).message})`, REACH);
  });
  const { version = '0.0', max_payload: payload = 0, jetstream } = nats.info ?? {};
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const refuse = async (what: string, todo: string) => {
    await nats.close();
    throw unusable(address, what, todo);
  };
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    await refuse(`it runs NATS ${version}, and 2.12 or newer is needed`, 'Update nats-server, node by node.');
  if (!jetstream)
    await refuse('JetStream is off', 'Turn it on in the configuration of the servers: jetstream { … }.');
  if (payload < LEAST_PAYLOAD)
    await refuse(
      `its max_payload is ${payload} bytes`,
      `Set max_payload to 1MB; ${LEAST_PAYLOAD} are needed.`,
    );
  return new Connection(nats, headers, o.deadlineMs);
}

export function streamsOf(name: string): Streams {
  return {
    records: `${name}-records`,
    logs: `${name}-logs`,
    blobs: `${name}-blobs`,
    documents: `${name}-documents`,
  };
}

/** Makes the streams that are missing. Gives how many copies they have. */
export async function openStreams(connection: Connection, address: Address): Promise<number> {
  const { name } = address;
  const streams = streamsOf(name);
  const replicas = connection.nats.info?.cluster ? REPLICAS : 1;
  const shared = {
    ...{ storage: 'file', retention: 'limits', discard: 'new', num_replicas: replicas },
    ...{ allow_direct: true, duplicate_window: 120_000_000_000, allow_msg_ttl: true },
  };
  const last = { ...shared, discard: 'old', max_msgs_per_subject: 1 };
  const configs: JsonObject[] = [
    { ...last, name: streams.records, subjects: [`${name}.r.>`, `${name}.t.>`] },
    {
      ...{ ...shared, name: streams.logs, subjects: [`${name}.l.>`, `${name}.i.>`], allow_atomic: true },
      republish: { src: `${name}.l.>`, dest: `${name}.live.>` },
    },
    { ...last, name: streams.blobs, subjects: [`${name}.m.>`, `${name}.c.>`] },
    { ...last, name: streams.documents, subjects: [`${name}.d.>`] },
  ];
  const found = await Promise.all(configs.map((config) => openStream(connection, address, config)));
  return Math.min(...found);
}

async function openStream(connection: Connection, address: Address, config: JsonObject): Promise<number> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const info = await connection.api(`STREAM.INFO.${config.name}`);
    const copies = (info?.config as JsonObject | undefined)?.num_replicas as number | undefined;
    if (copies !== undefined && copies >= (config.num_replicas as number)) return copies;
    try {
      // One server became a cluster: more copies of what there is.
      const what = copies === undefined ? 'CREATE' : 'UPDATE';
      const wanted =
        copies === undefined
          ? config
          : { ...(info!.config as JsonObject), num_replicas: config.num_replicas! };
      await connection.api(`STREAM.${what}.${config.name}`, wanted);
    } catch (error) {
      // Two servers may begin at once, and nodes of a cluster come one by one.
      if (performance.now() < until) {
        await pause(200);
        continue;
      }
      throw unusable(
        address,
        `the stream ${config.name} cannot be made (${(error as Error).message})`,
        NODES,
      );
    }
  }
}

const REACH = 'See whether the servers run, and whether the address, the user and the password are right.';
const NODES =
  'A cluster has three nodes at least, all of them up when a store is made; a single server has none beside it.';

function unusable(address: Address, what: string, todo: string): RelayError {
  return new RelayError('cluster_unusable', { url: shownAddress(address), what, todo });
}

/**
 * A frozen stream listens to no subject of its own, so that JetStream itself turns away whoever publishes, and says in its
 * metadata why. One whose time is over is opened again by the next who finds it so.
 */
const TO = 'relay_moving_to';
const UNTIL = 'relay_moving_until';
const SUBJECTS = 'relay_subjects';
const REPUBLISH = 'relay_republish';

/** A writer who is told to come back does so when the last changes have been copied. */
const MOVING_SECONDS = 5;

interface Config {
  readonly name?: string;
  readonly subjects?: string[];
  readonly republish?: JsonObject;
  readonly metadata?: { readonly [key: string]: string };
}

/** `ms`: for how long; null for good. */
export function frozenConfig(config: JsonObject, { to, ms }: MoveStatus): JsonObject {
  const { name, subjects, republish, metadata } = thawedConfig(config) as Config;
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

export function thawedConfig(config: JsonObject): JsonObject {
  const {
    [TO]: to,
    [UNTIL]: _,
    [SUBJECTS]: subjects,
    [REPUBLISH]: republish,
    ...metadata
  } = (config as Config).metadata ?? {};
  if (to === undefined) return config;
  const live = JSON.parse(republish!) as JsonObject | null;
  return { ...config, subjects: JSON.parse(subjects!), ...(live ? { republish: live } : {}), metadata };
}

/** Null where nothing is in the way of writing. */
export function departureOf(config: JsonObject): MoveStatus | null {
  const { [TO]: to, [UNTIL]: until } = (config as Config).metadata ?? {};
  if (to === undefined) return null;
  if (until === '') return { to, ms: null };
  const ms = Number(until) - Date.now();
  return ms <= 0 ? null : { to, ms };
}

export function isFrozen(config: JsonObject): boolean {
  return (config as Config).metadata?.[TO] !== undefined;
}

export function refusalOf({ to, ms }: MoveStatus): RelayError {
  return ms === null
    ? new RelayError('store_moved', { to })
    : new RelayError('store_moving', { to, seconds: MOVING_SECONDS });
}
