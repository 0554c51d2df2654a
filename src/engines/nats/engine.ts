import { type Env, systemEnv } from '../../base/env.ts';
import { isRelayError } from '../../base/errors.ts';
import { CLUSTER_CLOCK_TOLERANCE_MS } from '../../base/limits.ts';
import {
  DeferredWork,
  type Engine,
  type EngineLimits,
  type EngineState,
  type Figure,
  type SweepResult,
  type Usage,
} from '../../kernel/engine.ts';
import { type Moving, movingWarnings } from '../../kernel/moving.ts';
import type { IndexThreads } from '../index-thread.ts';
import { AccountStorage } from './account-storage.ts';
import { NatsBlobs } from './blobs.ts';
import type { Connection, StreamInfo } from './connection.ts';
import { LiveFeed } from './live-feed.ts';
import { Folders, LocalIndex } from './local-index.ts';
import { NatsLogs } from './logs.ts';
import { findFreezeError, natsMoving } from './moving.ts';
import {
  type Address,
  connect,
  formatAddress,
  openStreams,
  parseAddress,
  type Store,
  streamsOf,
} from './opening.ts';
import { NatsRecords } from './records.ts';
import { NatsSearchIndex } from './search-index.ts';
import { sweepNats } from './sweep.ts';

const KiB = 1024;

/** Time in ms after which `waits` is called, if the cluster still has no quorum. */
const QUORUM_NOTICE_MS = 3_000;

export interface NatsOptions {
  /** Address of the cluster and name of the store: `nats://a:4222,b:4222,c:4222/name`. */
  readonly url: string;
  readonly env?: Env;
  /** Path of the file with the local index, which can be rebuilt from the cluster. In memory by default. */
  readonly indexFile?: string;
  /**
   * Kind of process. A `cli` process sweeps once, so it scans the whole store. A server relies on JetStream to delete
   * expired messages.
   */
  readonly role?: 'server' | 'cli';
  /** Worker threads that search and update the local index. Without them, the calling thread does this work. */
  readonly indexThreads?: IndexThreads;
  /** Maximum time in ms that a call waits for the cluster. Default: 20 s. */
  readonly deadlineMs?: number;
  /**
   * Called with a message for the user while the cluster has no quorum. The engine then opens as soon as the cluster
   * has one. Without this function, opening fails.
   */
  readonly waits?: (what: string) => void;
}

export interface NatsEngine extends Engine {
  readonly connection: Connection;
  readonly moving: Moving;
}

/** Opens a store in a NATS cluster. Any number of servers can share it. */
export async function openNats(o: NatsOptions): Promise<NatsEngine> {
  const address = parseAddress(o.url);
  const connection = await connect(address, { deadlineMs: o.deadlineMs });
  const replicas = await openWithQuorum(connection, address, o.waits).catch(async (error) => {
    await connection.close();
    throw error;
  });
  const limits: EngineLimits = {
    recordBytes: 256 * KiB,
    entryBytes: 256 * KiB,
    blobBytes: 64 * KiB * KiB,
    // A client cannot see whether a single server syncs its disk, so do not claim more than `process`.
    durability: replicas >= 3 ? 'quorum' : 'process',
  };
  const local = new LocalIndex(o.indexFile ?? ':memory:');
  const store: Store = {
    connection,
    limits,
    name: address.name,
    streams: streamsOf(address.name),
    env: o.env ?? systemEnv,
    folders: new Folders(local),
    firstSeq: 1,
  };
  const feed = new LiveFeed(store);
  const storage = new AccountStorage(connection, replicas);
  connection.storage = storage;
  await Promise.all([feed.poll(), storage.poll()]);
  const blobs = new NatsBlobs(store);
  const logs = new NatsLogs(store, feed);
  const records = new NatsRecords(store, logs);
  const index = new NatsSearchIndex(store, local, o.indexThreads);
  const moving = natsMoving(store, { blobs, records, logs, index });
  connection.findFreezeError = () => findFreezeError(store, moving);
  const deferred = new DeferredWork();
  const sweep = sweepNats(store, blobs, o.role === 'cli');
  let sweeping: Promise<SweepResult> = Promise.resolve({ blobs: 0, records: 0, bytes: 0 });
  let closing: Promise<void> | undefined;
  const close = async () => {
    await deferred.settle();
    feed.end();
    storage.end();
    local.close();
    await connection.close();
  };
  return {
    connection,
    blobs,
    records,
    logs,
    index,
    limits,
    moving,
    now: () => store.env.now(),
    defer: (work, afterMs) => deferred.defer(work, afterMs),
    sweep() {
      // Ignore the error of the previous sweep: the caller of that sweep got it.
      sweeping = sweeping.catch(() => {}).then(sweep);
      return sweeping;
    },
    usage: async () => {
      const { streams } = store;
      const infos = await Promise.all(Object.values(streams).map((name) => connection.info(name)));
      const { last_seq: lastDocument } = infos.find(({ config }) => config.name === streams.documents)!.state;
      return {
        ...(await measureUsage(store, infos, { blobs, records, logs })),
        quota: storage.quota ?? undefined,
        figures: clusterFigures(connection, infos, index.ageMs(lastDocument)),
      };
    },
    async state() {
      const { leader, behind, clockAheadMs } = await feed.poll();
      const version = connection.nats.info?.version ?? '';
      return {
        engine: `NATS ${version} at ${formatAddress(address)}`,
        replicas,
        leader,
        backlog: behind,
        clockAheadMs,
        warnings: [
          ...clusterWarnings(replicas, clockAheadMs),
          ...storage.warnings,
          ...movingWarnings(await moving.moveStatus()),
        ],
        unseen: [SYNC],
      } satisfies EngineState;
    },
    [Symbol.asyncDispose]() {
      closing ??= close();
      return closing;
    },
  };
}

/**
 * Opens the streams and returns the number of replicas. With `waits`, retries until the cluster has a quorum, and
 * calls `waits` after `QUORUM_NOTICE_MS`.
 */
async function openWithQuorum(
  connection: Connection,
  address: Address,
  waits: NatsOptions['waits'],
): Promise<number> {
  const { server_name: node } = connection.nats.info ?? {};
  const where = `Connected to node ${node} of ${formatAddress(address)}`;
  const what = `${where}. Waiting until more than half of the nodes run, because the cluster has no leader now.`;
  const timer = waits && setTimeout(waits, QUORUM_NOTICE_MS, what);
  try {
    for (;;) {
      try {
        return await openStreams(connection, address);
      } catch (error) {
        if (!waits || !isRelayError(error, 'cluster_unavailable')) throw error;
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

const SYNC =
  'The relay cannot see whether every node has sync_interval: always. Without it, a power failure of all nodes loses up to two minutes of writes.';

function clusterWarnings(replicas: number, clockAheadMs: number): string[] {
  const warnings: string[] = [];
  if (Math.abs(clockAheadMs) > CLUSTER_CLOCK_TOLERANCE_MS) {
    const seconds = Math.round(Math.abs(clockAheadMs) / 1000);
    const side = clockAheadMs < 0 ? 'behind' : 'ahead of';
    warnings.push(`The clock of this machine is ${seconds} s ${side} the clock of the cluster.`);
  }
  if (replicas < 3)
    warnings.push('There is only one copy of the data. If its server is lost, the data is lost.');
  return warnings;
}

/**
 * Maximum number of subjects of a stream for an exact count. In a smaller stream, `measureUsage` reads every message
 * and counts only live data. For a larger stream it takes the counts of NATS, which include expired and deleted
 * messages.
 */
const EXACT_COUNT_SUBJECTS = 10_000;

interface Ports {
  readonly blobs: NatsBlobs;
  readonly records: NatsRecords;
  readonly logs: NatsLogs;
}

/** Measures usage. The number of requests is limited, however large the store is. */
async function measureUsage(
  store: Store,
  infos: readonly StreamInfo[],
  { blobs, records, logs }: Ports,
): Promise<Usage> {
  const { connection, name, streams } = store;
  const stateOf = (stream: string) => infos.find(({ config }) => config.name === stream)!.state;
  const isSmall = (stream: string) => (stateOf(stream).num_subjects ?? 0) <= EXACT_COUNT_SUBJECTS;
  const count = (stream: string, kind: string) => connection.count(stream, `${name}.${kind}.>`);
  const counts = await Promise.all([
    isSmall(streams.blobs)
      ? blobs.usage()
      : count(streams.blobs, 'm').then((found) => ({ count: found, bytes: stateOf(streams.blobs).bytes })),
    isSmall(streams.records) ? records.count() : count(streams.records, 'r'),
    isSmall(streams.logs) ? logs.count() : count(streams.logs, 'l'),
  ]);
  return {
    blobs: counts[0],
    records: counts[1],
    entries: counts[2],
    // Number of bytes on one node. Every other replica uses the same number of bytes.
    diskBytes: infos.reduce((sum, { state }) => sum + state.bytes, 0),
  };
}

function clusterFigures(connection: Connection, infos: readonly StreamInfo[], indexAgeMs: number): Figure[] {
  const { retries, reconnects } = connection;
  const streams = infos.map(({ config, cluster = {} }) => ({ stream: config.name, ...cluster }));
  return [
    [
      'relay_cluster_stream_leader',
      '1 for the node that leads the stream.',
      streams.flatMap(({ stream, leader }) =>
        leader === undefined ? [] : [{ labels: { stream, node: leader }, value: 1 }],
      ),
    ],
    [
      'relay_cluster_replicas_current',
      'Replicas of the stream that are up to date, including the leader.',
      streams.map(({ stream, replicas = [] }) => ({
        labels: { stream },
        value: 1 + replicas.filter(({ current }) => current).length,
      })),
    ],
    [
      'relay_cluster_replica_lag',
      'Operations by which a replica is behind the leader of the stream.',
      streams.flatMap(({ stream, replicas = [] }) =>
        replicas.map(({ name, lag = 0 }) => ({ labels: { stream, node: name }, value: lag })),
      ),
    ],
    ['relay_cluster_reconnects_total', 'Times that this server connected to the cluster again.', reconnects],
    ['relay_cluster_retries_total', 'Requests to the cluster that were repeated.', retries],
    [
      'relay_cluster_index_age_seconds',
      'Age of the search index of this server, 0 if it is up to date.',
      Math.round(indexAgeMs / 1000),
    ],
  ];
}
