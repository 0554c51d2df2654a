import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { pause } from '../../src/base/pause.ts';
import { until } from '../until.ts';

/** Publishes continuously with a plain NATS client, to find out whether NATS itself loses acknowledged messages. */
export async function startRaw(url: string) {
  const nats = await connect({ servers: url.slice('nats://'.length).split(','), maxReconnectAttempts: -1 });
  const api = async (what: string, body: object) =>
    (await nats.request(`$JS.API.${what}`, JSON.stringify(body), { timeout: 5000 })).json() as Record<
      string,
      never
    >;
  await api('STREAM.CREATE.raw', { name: 'raw', subjects: ['raw.>'], num_replicas: 3, storage: 'file' });
  const sequences = new Map<number, string>();
  let ended = false;
  const publishing = (async () => {
    for (let n = 0; !ended; n++) {
      const id = headers();
      id.set('Nats-Msg-Id', `raw ${n}`);
      for (;;) {
        const ack = await nats.request(`raw.${n}`, String(n), { timeout: 4000, headers: id }).then(
          (answer) => answer.json() as { seq?: number },
          () => null,
        );
        if (ack?.seq) sequences.set(ack.seq, String(n));
        if (ack?.seq || ended) break;
        await pause(100);
      }
      await pause(20);
    }
  })();
  return {
    nats,
    get acknowledged() {
      return sequences.size;
    },
    async stop() {
      ended = true;
      await publishing;
    },
    async lost() {
      let lost = 0;
      for (const [seq, text] of sequences) {
        const { message } = (await api('STREAM.MSG.GET.raw', { seq })) as { message?: { data: string } };
        if (!message || Buffer.from(message.data, 'base64').toString() !== text) lost++;
      }
      return lost;
    },
    [Symbol.asyncDispose]: async () => {
      ended = true;
      await nats.close();
    },
  };
}

interface StreamInfo {
  readonly cluster?: { leader?: string; replicas?: { name: string; current: boolean; offline?: boolean }[] };
}

export async function infoOf(nats: NatsConnection, stream: string): Promise<StreamInfo> {
  return (await nats.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: 2000 })).json();
}

export async function leaderOf(nats: NatsConnection): Promise<string | null> {
  return (await infoOf(nats, 'relay-logs')).cluster?.leader ?? null;
}

/** Streams of a store with the default name. */
export const STREAMS = ['relay-records', 'relay-logs', 'relay-blobs', 'relay-documents'];

/** Waits until every replica of the streams has caught up with its leader. */
export async function current(nats: NatsConnection, streams = [...STREAMS, 'raw']): Promise<void> {
  for (const stream of streams) {
    await until(
      async () => {
        const { cluster } = await infoOf(nats, stream).catch((): StreamInfo => ({}));
        const replicas = cluster?.replicas ?? [];
        return replicas.length === 2 && replicas.every((replica) => replica.current && !replica.offline);
      },
      { everyMs: 200, timeoutMs: 300_000 },
    );
  }
}
