import { type Env, systemEnv } from '../../base/env.ts';
import { CLUSTER_CLOCK_TOLERANCE_MS } from '../../base/limits.ts';
import {
  DeferredWork,
  type Engine,
  type EngineLimits,
  type EngineState,
  type Swept,
} from '../../kernel/engine.ts';
import { type Moving, movingWarnings } from '../../kernel/moving.ts';
import type { IndexThreads } from '../index-thread.ts';
import { AccountStorage } from './account-storage.ts';
import { NatsBlobs } from './blobs.ts';
import type { Connection } from './connection.ts';
import { Expiries } from './expiries.ts';
import { Folders } from './folders.ts';
import { LiveFeed } from './live-feed.ts';
import { LocalIndex } from './local-index.ts';
import { NatsLogs } from './logs.ts';
import { NatsMoving } from './moving.ts';
import { connect, openStreams, parseAddress, shownAddress, streamsOf } from './opening.ts';
import { NatsRecords } from './records.ts';
import { NatsSearchIndex } from './search-index.ts';
import type { Store } from './store.ts';
import { Sweep } from './sweep.ts';
import { usageOf } from './usage.ts';

const KiB = 1024;

export interface NatsOptions {
  /** `nats://a:4222,b:4222,c:4222/name`. */
  readonly url: string;
  readonly env?: Env;
  /** Where this server keeps what it can always get from the cluster again; with the process by default. */
  readonly indexFile?: string;
  /** A command sweeps once and knows nothing of what servers wrote, so it looks at everything. */
  readonly role?: 'server' | 'cli';
  /** Does searches and changes of that index; this process itself does them by default. */
  readonly indexThreads?: IndexThreads;
  /** How long a write waits for the cluster. */
  readonly deadlineMs?: number;
}

export interface NatsEngine extends Engine {
  readonly connection: Connection;
  readonly moving: Moving;
}

/** A team's cluster: any number of servers over one store that JetStream keeps, in few streams of many subjects. */
export async function openNats(o: NatsOptions): Promise<NatsEngine> {
  const address = parseAddress(o.url);
  const connection = await connect(address, { deadlineMs: o.deadlineMs });
  const replicas = await openStreams(connection, address).catch(async (error) => {
    await connection.close();
    throw error;
  });
  const limits: EngineLimits = {
    recordBytes: 256 * KiB,
    entryBytes: 256 * KiB,
    blobBytes: 64 * KiB * KiB,
    // Whether a single server syncs its disk cannot be seen from here.
    durability: replicas >= 3 ? 'quorum' : 'process',
  };
  const local = new LocalIndex(o.indexFile ?? ':memory:');
  const store: Store = {
    ...{ connection, limits, name: address.name, streams: streamsOf(address.name) },
    env: o.env ?? systemEnv,
    expiries: new Expiries(),
    folders: new Folders(local),
    firstSeq: 1,
  };
  const feed = new LiveFeed(store);
  const storage = new AccountStorage(connection, replicas);
  connection.storage = storage;
  await Promise.all([feed.look(), storage.look()]);
  const blobs = new NatsBlobs(store);
  const logs = new NatsLogs(store, feed);
  const records = new NatsRecords(store, logs);
  const index = new NatsSearchIndex(store, local, o.indexThreads);
  const moving = new NatsMoving(store, { blobs, records, logs, index });
  connection.whyRefused = () => moving.whyRefused();
  const deferred = new DeferredWork();
  const sweep = new Sweep(store, blobs, o.role === 'cli');
  let sweeping: Promise<Swept> = Promise.resolve({ blobs: 0, records: 0, bytes: 0 });
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
    defer: (work, afterMs) => void deferred.defer(work, afterMs),
    sweep() {
      sweeping = sweeping.catch(() => {}).then(() => sweep.run());
      return sweeping;
    },
    usage: async () => ({
      ...(await usageOf(store, { blobs, records, logs })),
      quota: storage.quota ?? undefined,
    }),
    async state() {
      const { leader, behind, clockAheadMs } = await feed.look();
      const version = connection.nats.info?.version ?? '';
      return {
        engine: `NATS ${version} at ${shownAddress(address)}`,
        ...{ replicas, leader, backlog: behind, clockAheadMs },
        warnings: [
          ...warningsOf(replicas, clockAheadMs),
          ...storage.warnings,
          ...movingWarnings(await moving.departure()),
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

const SYNC =
  'Whether every node has sync_interval: always cannot be seen from here; without it a power cut of all loses up to two minutes.';

function warningsOf(replicas: number, clockAheadMs: number): string[] {
  const warnings: string[] = [];
  if (Math.abs(clockAheadMs) > CLUSTER_CLOCK_TOLERANCE_MS) {
    const seconds = Math.round(Math.abs(clockAheadMs) / 1000);
    const side = clockAheadMs < 0 ? 'behind' : 'ahead of';
    warnings.push(`The clock of this machine is ${seconds} s ${side} that of the cluster.`);
  }
  if (replicas < 3) warnings.push('There is one copy of everything: it is lost with its server.');
  return warnings;
}
