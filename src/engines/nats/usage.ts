import type { Usage } from '../../kernel/engine.ts';
import type { NatsBlobs } from './blobs.ts';
import type { NatsLogs } from './logs.ts';
import type { NatsRecords } from './records.ts';
import type { Store } from './store.ts';

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
export async function usageOf(store: Store, { blobs, records, logs }: Ports): Promise<Usage> {
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
