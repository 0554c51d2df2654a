import { findNatsServer, startCluster } from '../../test/nats/cluster.ts';
import { Audience } from '../audience.ts';
import type { Bench, Measured, Scale, Skipped } from '../bench.ts';
import { compareRequests } from '../compare-requests.ts';
import { PAYLOAD_BYTES, relaySide } from '../pointers.ts';
import { RawNats } from '../raw-nats.ts';
import { type Server, startRelay } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const SUBSCRIBERS = 200;
/** Number of operations per round. */
const TIMES = 10;
const WARMUPS = 5;

type Run = (relay: Server, url: string, scale: Scale) => Promise<Measured>;

/**
 * Compares a relay on three nodes with a plain NATS client of the same nodes. The nodes sync every write.
 * Informational.
 */
function onCluster(name: string, run: Run): Bench {
  return {
    name: `nats-${name}`,
    claim: null,
    limit: null,
    async run(scale): Promise<Measured | Skipped> {
      const natsServer = await findNatsServer();
      if ('missing' in natsServer) return { skipped: natsServer.missing };
      await using cluster = await startCluster();
      await using relay = await startRelay('--engine', cluster.url);
      return await run(relay, cluster.url, scale);
    },
  };
}

const pointers = (verb: 'push' | 'pull' | 'peek', bytes: number, detail: string): Run => {
  return async (relay, url, { rounds }) => {
    const ours = await relaySide(relay, { verb, form: 'raw', bytes: PAYLOAD_BYTES, atOnce: 1 });
    const baseline = { url: verb === 'push' ? url : `${url}?pull`, bodyBytes: bytes };
    const result = await compareRequests({ ours, baseline, rounds, requests: 20, atOnce: 1 });
    return summarise(result, 'ms', detail);
  };
};

const fanOut: Run = async (relay, url, { rounds }) => {
  using ours = new Audience(relay, 'fan-out');
  await ours.grow(SUBSCRIBERS);
  await using raw = await RawNats.open(url);
  let missing = 0;
  let allReceived = () => {};
  const clients = await Promise.all(
    Array.from({ length: SUBSCRIBERS }, async () => {
      const client = await RawNats.open(url);
      client.nats.subscribe('raw-live', { callback: () => void (--missing === 0 && allReceived()) });
      await client.nats.flush();
      return client;
    }),
  );
  const theirs = async () => {
    missing = SUBSCRIBERS;
    const all = new Promise<void>((resolve) => {
      allReceived = resolve;
    });
    await raw.put('fan', 'all happy relays are alike');
    await all;
  };
  const measured = await alternately(rounds, () => ours.push(), theirs);
  for (const client of clients) await client[Symbol.asyncDispose]();
  const detail = `a push until the last of ${SUBSCRIBERS} sockets has it; raw: a message to as many connections`;
  return summarise(measured, 'ms', detail);
};

const patch: Run = async (relay, url, { rounds }) => {
  await using raw = await RawNats.open(url);
  const post = async (path: string, body: unknown) => {
    const answer = await fetch(relay.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
    return answer.json() as Promise<{ thread_id: string }>;
  };
  const { thread_id } = await post('/threads', { name: 'bench' });
  const change = (op: string, path: string, value: unknown) =>
    post(`/threads/${thread_id}/state/patch`, [{ op, path, value }]);
  await change('add', '/facts/-', { id: 'f', key: 'count', value: '0' });
  let facts = 0;
  const ours = () => change('replace', '/facts/0/value', String(facts++));
  await raw.put('state', '{}');
  const theirs = async () => {
    const { seq } = await raw.get('state');
    await raw.put('state', JSON.stringify({ fact: facts }), seq);
  };
  const measured = await alternately(rounds, ours, theirs);
  return summarise(measured, 'ms', 'a patch of a thread; raw: read the last message, write on condition');
};

/** Measures the relay and the plain client in turn. Each round is the mean of several operations. */
async function alternately(
  rounds: number,
  ours: () => Promise<unknown>,
  theirs: () => Promise<unknown>,
): Promise<Round[]> {
  const measured: Round[] = [];
  for (let round = -WARMUPS; round < rounds; round++) {
    const sum = { ours: 0, baseline: 0 };
    for (let i = 0; i < TIMES; i++) {
      sum.ours += await timed(ours);
      sum.baseline += await timed(theirs);
    }
    if (round >= 0) measured.push({ ours: sum.ours / TIMES, baseline: sum.baseline / TIMES });
  }
  return measured;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

export default [
  onCluster(
    'push',
    pointers('push', PAYLOAD_BYTES, 'a push of 125 KB; raw: one message of as much, confirmed'),
  ),
  onCluster(
    'pull',
    pointers('pull', PAYLOAD_BYTES, 'a pull of 125 KB; raw: one message of as much, from the leader'),
  ),
  onCluster('peek', pointers('peek', 300, 'a peek; raw: one message of 300 bytes, from the leader')),
  onCluster('fan-out', fanOut),
  onCluster('patch', patch),
] satisfies Bench[];
