import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import type { Asker } from './compare-requests.ts';

/** Number of subjects, which are written in turn. The stream keeps the last message of each. */
const SUBJECTS = 1000;

/** A plain NATS client, the baseline for a relay on a cluster. Each write is one message in the client's own stream. */
export class RawNats implements AsyncDisposable {
  readonly nats: NatsConnection;

  private constructor(nats: NatsConnection) {
    this.nats = nats;
  }

  /** Connects and creates the stream if it is missing. `url` is as in `relay up --engine`. */
  static async open(url: string): Promise<RawNats> {
    const nats = await connect({ servers: url.replace('nats://', '').split(',') });
    const raw = new RawNats(nats);
    const copies = nats.info?.cluster ? 3 : 1;
    await raw.#api('STREAM.CREATE.raw', {
      ...{ name: 'raw', subjects: ['raw.>'], storage: 'file', num_replicas: copies },
      ...{ max_msgs_per_subject: 1, republish: { src: 'raw.fan', dest: 'raw-live' } },
    });
    return raw;
  }

  /** Stores a message, waits until the cluster confirms it, and returns its sequence number. */
  async put(subject: string, data: Uint8Array | string, expect?: number): Promise<number> {
    const expected = headers();
    if (expect !== undefined) expected.set('Nats-Expected-Last-Subject-Sequence', String(expect));
    const answer = await this.nats.request(`raw.${subject}`, data, { timeout: 20_000, headers: expected });
    const { seq, error } = answer.json() as { seq?: number; error?: { description: string } };
    if (seq === undefined) throw new Error(`NATS answered ${error?.description}`);
    return seq;
  }

  /** Reads the last message of a subject from the leader. */
  async get(subject: string): Promise<{ seq: number; data: Buffer }> {
    const { message } = (await this.#api('STREAM.MSG.GET.raw', { last_by_subj: `raw.${subject}` })) as {
      message: { seq: number; data: string };
    };
    return { seq: message.seq, data: Buffer.from(message.data, 'base64') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.nats.close();
  }

  async #api(what: string, body: object): Promise<unknown> {
    return (await this.nats.request(`$JS.API.${what}`, JSON.stringify(body), { timeout: 20_000 })).json();
  }
}

/** Returns a client that writes a value repeatedly. With `?pull` at the end of the URL, it reads the value. */
export async function natsAsker(url: string, value: Buffer): Promise<Asker> {
  const [address = '', verb] = url.split('?');
  const raw = await RawNats.open(address);
  if (verb === 'pull') await raw.put('pulled', value);
  let puts = 0;
  return {
    async ask() {
      if (verb === 'pull') {
        const { data } = await raw.get('pulled');
        if (data.length !== value.length) throw new Error(`NATS answered ${data.length} bytes`);
      } else await raw.put(`put.${puts++ % SUBJECTS}`, value);
    },
    [Symbol.dispose]: () => void raw.nats.close(),
  };
}
