import { type Env, systemEnv } from '../../base/env.ts';
import { CLUSTER_CLOCK_TOLERANCE_MS } from '../../base/limits.ts';
import {
  DeferredWork,
  type Engine,
  type EngineLimits,
  type EngineState,
  type SweepResult,
  type Usage,
} from '../../kernel/engine.ts';
import { type Moving, movingWarnings } from '../../kernel/moving.ts';
import type { IndexThreads } from '../index-thread.ts';
import { AccountStorage } from './account-storage.ts';
import { NatsBlobs } from './blobs.ts';
import type { Connection } from './connection.ts';
import { LiveFeed } from './live-feed.ts';
import { Folders, LocalIndex } from './local-index.ts';
import { NatsLogs } from './logs.ts';
import { natsMoving, whyRefused } from './moving.ts';
import { connect, openStreams, parseAddress, type Store, shownAddress, streamsOf } from './opening.ts';
import { NatsRecords } from './records.ts';
import { NatsSearchIndex } from './search-index.ts';
import { sweepNats } from './sweep.ts';

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
  const moving = natsMoving(store, { blobs, records, logs, index });
  connection.whyRefused = () => whyRefused(store, moving);
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
    defer: (work, afterMs) => void deferred.defer(work, afterMs),
    sweep() {
      // A failure was thrown to whoever asked for that sweep.
      sweeping = sweeping.catch(() => {}).then(sweep);
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

/**
 * Subjects of a stream that are looked at one by one, so that what has expired or was deleted a moment ago does not count. Of a
 * larger stream a server of NATS tells how many it has, those among them, and what bodies hold is what they take up.
 */
const LOOKED_AT = 10_000;

interface Ports {
  readonly blobs: NatsBlobs;
  readonly records: NatsRecords;
  readonly logs: NatsLogs;
}

/** Asks the cluster a bounded number of questions, however much there is. */
async function usageOf(store: Store, { blobs, records, logs }: Ports): Promise<Usage> {
  const { connection, name, streams } = store;
  const states = await Promise.all([
    stateOf(store, streams.blobs),
    stateOf(store, streams.records),
    stateOf(store, streams.logs),
    stateOf(store, streams.documents),
  ]);
  const [bodies, documents, entries] = states;
  const isSmall = (state: State) => state.num_subjects <= LOOKED_AT;
  const count = (stream: string, kind: string) => connection.count(stream, `${name}.${kind}.>`);
  const counts = await Promise.all([
    isSmall(bodies)
      ? blobs.usage()
      : count(streams.blobs, 'm').then((found) => ({ count: found, bytes: bodies.bytes })),
    isSmall(documents) ? records.count() : count(streams.records, 'r'),
    isSmall(entries) ? logs.count() : count(streams.logs, 'l'),
  ]);
  return {
    blobs: counts[0],
    records: counts[1],
    entries: counts[2],
    // On one node; each copy takes as much.
    diskBytes: states.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

interface State {
  readonly bytes: number;
  readonly num_subjects: number;
}

async function stateOf({ connection }: Store, stream: string): Promise<State> {
  const { bytes, num_subjects = 0 } = (await connection.api(`STREAM.INFO.${stream}`))!
    .state as unknown as Partial<State> & { bytes: number };
  return { bytes, num_subjects };
}
