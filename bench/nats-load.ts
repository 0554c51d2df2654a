import { connect, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';

/** Maximum number of unconfirmed messages. A cluster drops messages if there are too many. */
const UNCONFIRMED = 4_000;

export interface Amounts {
  readonly pointers: number;
  readonly channels: number;
  readonly threads: number;
}

interface Example {
  /** The id of the object. It occurs in the subjects and contents of the object's messages. */
  readonly id: string;
  readonly messages: { readonly subject: string; readonly data: string; readonly ttl: string }[];
}

/** Fills a store: the relay creates one object of each kind, and the messages of each object are copied with other ids. */
export async function fillStore(engine: string, relayUrl: string, amounts: Amounts): Promise<void> {
  const nats = await connect({ servers: engine.replace('nats://', '').split(',') });
  try {
    const examples = await makeExamples(nats, relayUrl);
    for (const [kind, count] of Object.entries(amounts) as [keyof Amounts, number][])
      await copy(nats, examples[kind], count - 1);
  } finally {
    await nats.close();
  }
}

async function makeExamples(nats: NatsConnection, url: string): Promise<Record<keyof Amounts, Example>> {
  const post = async (path: string, body: unknown) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const answer = await fetch(url + path, { ...init, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
    return (await answer.json()) as { id: string; thread_id: string };
  };
  const metadata = { summary: 'a report on forty files', from: 'bench' };
  const { id: pointer } = await post('/push', { data: 'All happy relays are alike.', metadata, ttl: 86_400 });
  const { thread_id: thread } = await post('/threads', { name: 'bench' });
  const channel = '00000000-0000-4000-8000-0000channel0';
  await post(`/channels/${channel}`, { msg: { hello: 'world' } });
  // Wait until write-behind data is written.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const of = async (id: string): Promise<Example> => ({ id, messages: await messagesOf(nats, id) });
  return { pointers: await of(pointer), channels: await of(channel), threads: await of(thread) };
}

/** Returns the messages whose subject contains an id. */
async function messagesOf(nats: NatsConnection, id: string): Promise<Example['messages']> {
  const messages: Example['messages'] = [];
  for (const stream of ['relay-records', 'relay-logs', 'relay-blobs']) {
    const ask = async (what: string, body: object) =>
      (await nats.request(`$JS.API.${what}.${stream}`, JSON.stringify(body), { timeout: 20_000 })).json() as {
        state: { first_seq: number; last_seq: number };
        message?: { subject: string; data?: string; hdrs?: string };
      };
    const { state } = await ask('STREAM.INFO', {});
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const { message } = await ask('STREAM.MSG.GET', { seq });
      if (!message?.subject.includes(id)) continue;
      const text = Buffer.from(message.hdrs ?? '', 'base64').toString();
      const ttl = /Nats-TTL: (\S+)/.exec(text)?.[1] ?? '';
      messages.push({
        subject: message.subject,
        data: Buffer.from(message.data ?? '', 'base64').toString(),
        ttl,
      });
    }
  }
  return messages;
}

/**
 * Writes copies of an object's messages. Each copy gets its own id.
 */
async function copy(nats: NatsConnection, { id, messages }: Example, copies: number): Promise<void> {
  const slots = new Turns(UNCONFIRMED);
  for (let n = 1; n <= copies; n++) {
    const name = `${n.toString(16).padStart(8, '0')}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
    for (const { subject, data, ttl } of messages) {
      await slots.take();
      const o = { timeout: 120_000, ...(ttl ? { headers: ttlHeader(ttl) } : {}) };
      void nats.request(subject.replace(id, name), data.replaceAll(id, name), o).then(
        (answer) => slots.give(refusal(answer)),
        (error) => slots.give(error),
      );
    }
  }
  await slots.all();
}

function refusal(answer: Msg): Error | undefined {
  const { error } = answer.json() as { error?: { description: string } };
  return error && new Error(error.description);
}

function ttlHeader(ttl: string) {
  const header = headers();
  header.set('Nats-TTL', ttl);
  return header;
}

class Turns {
  readonly #most: number;
  #free: number;
  #error: Error | undefined;
  #waiting: (() => void) | null = null;

  constructor(most: number) {
    this.#most = most;
    this.#free = most;
  }

  take(): Promise<void> | undefined {
    if (this.#error) throw this.#error;
    if (this.#free-- > 0) return undefined;
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  give(error?: Error): void {
    this.#error ??= error;
    this.#free++;
    this.#waiting?.();
    this.#waiting = null;
  }

  async all(): Promise<void> {
    while (this.#free < this.#most && !this.#error)
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    if (this.#error) throw this.#error;
  }
}
