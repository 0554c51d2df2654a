import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node';
import { isRelayError, RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { ConcurrencyLimit } from '../../base/map-concurrent.ts';
import { pause } from '../../base/pause.ts';

/** An election takes some seconds; what is not confirmed by then is refused. */
const DEADLINE_MS = 20_000;
/** The first attempt; each later one has twice as long. A leader that was killed leaves it unanswered, and one may just be slow. */
const ATTEMPT_MS = 4_000;
/** Messages that are not acknowledged yet: what a slow leader cannot keep up with waits here and is not sent twice. */
const PUBLISHED_AT_ONCE = 256;
/** A stream takes fifty batches at once, from all servers together. */
const BATCHES_AT_ONCE = 12;
/** About what a message takes up beside its data. */
const OVERHEAD_BYTES = 128;
const PAUSE_MS = 50;
const PAUSE_MAX_MS = 500;

/** JetStream's own numbers for what is told apart here. */
const CODES = {
  notFound: [10037, 10059],
  /** The last sequence of the subject is another one; the second kind: a write to it is under way. */
  lost: [10071, 10164],
  /**
   * Not now, beside what says so by its status: no leader, a batch that a new leader has not seen whole, or an earlier attempt with
   * the same id that is not decided yet.
   */
  transient: [10007, 10009, 10118, 10158, 10176],
  /** No room, by the limit of the account. */
  atLimit: [10002],
  /** No room on a server. */
  full: [10002, 10023, 10047],
} as const;

export interface Stored {
  readonly subject: string;
  readonly seq: number;
  readonly data: Uint8Array;
}

export interface PublishOptions {
  /** The sequence that the last message of the subject must have; 0: there is none. */
  readonly expect?: number;
  /** Seconds after which the server may forget it. */
  readonly ttl?: number;
  /** A message that must be stored right before this one, together with it or not at all. */
  readonly before?: { readonly subject: string; readonly data: Uint8Array; readonly expect?: number };
  /** The write is part of a deletion, so it may use the reserve of an account at its storage limit. */
  readonly frees?: boolean;
}

/** The storage limit of the account. */
export interface StorageLimit {
  /** New data has to pass `admit`, which rejects with `store_full`. */
  readonly isTight: boolean;
  admit(): Promise<void>;
  full(): RelayError;
}

/** One answer of several messages, and up to which sequence of the stream the server that gave it had got. */
export interface Batch {
  readonly messages: Stored[];
  /** How many more there are, which did not fit. */
  readonly pending: number;
  readonly upTo: number;
}

interface ApiError {
  readonly code: number;
  readonly err_code?: number;
  readonly description?: string;
}

type ApiAnswer = JsonObject & { error?: ApiError };

/**
 * What the ports ask of JetStream, each call repeated with the same id and the same expectation until it is answered or
 * its time is up: a leader that changes costs a wait and not an error. Reads that must be current go to the leader.
 */
export class Connection {
  readonly nats: NatsConnection;
  readonly #headers: () => MsgHdrs;
  readonly #deadlineMs: number;
  readonly #publishing = new ConcurrencyLimit(PUBLISHED_AT_ONCE);
  readonly #batching = new ConcurrencyLimit(BATCHES_AT_ONCE);
  #closed = false;
  /** Asked where nobody listens to what is published: why that is, if it is so on purpose. */
  whyRefused: () => Promise<RelayError | null> = async () => null;
  /** Whether the account has room for new data; null while that is not known. */
  storage: StorageLimit | null = null;
  /** Bytes that this process has published. */
  published = 0;
  /** Nothing may be removed, which JetStream itself would not be in the way of. */
  frozen = false;

  constructor(nats: NatsConnection, headers: () => MsgHdrs, deadlineMs = DEADLINE_MS) {
    this.nats = nats;
    this.#headers = headers;
    this.#deadlineMs = deadlineMs;
  }

  /** The sequence of what was stored, or null where the expectation did not hold. */
  async publish(subject: string, data: Uint8Array, o: PublishOptions = {}): Promise<number | null> {
    if (!o.frees && this.storage?.isTight) await this.storage.admit();
    this.published += data.length + (o.before?.data.length ?? 0) + OVERHEAD_BYTES;
    if (o.before) return this.#batching.run(() => this.#publishBoth(subject, data, o));
    const headers = this.#publishHeaders(o.expect, o.ttl);
    headers.set('Nats-Msg-Id', crypto.randomUUID());
    const attempt = async (timeout: number) => {
      const answer = await this.nats.request(subject, data, { timeout, headers });
      return this.#confirmed(answer.json() as ApiAnswer);
    };
    return this.#publishing.run(() => this.#persist(subject, attempt));
  }

  /** Of the subject's messages the last one, as the leader of the stream has it. */
  async last(stream: string, subject: string): Promise<Stored | null> {
    return this.#get(stream, { last_by_subj: subject });
  }

  /** Of the subject's messages the first from a sequence on, as the leader has it. */
  async next(stream: string, subject: string, from: number): Promise<Stored | null> {
    return this.#get(stream, { seq: Math.max(from, 1), next_by_subj: subject });
  }

  /** A request to the API of JetStream; what it cannot find is null. */
  async api(what: string, body: JsonObject = {}): Promise<JsonObject | null> {
    const payload = JSON.stringify(body);
    if (this.frozen && /^STREAM\.(PURGE|MSG\.DELETE)\./.test(what)) {
      const refusal = await this.whyRefused();
      if (refusal) throw refusal;
    }
    return this.#persist(what, async (timeout) => {
      const message = await this.nats.request(`$JS.API.${what}`, payload, { timeout });
      const answer = message.json() as ApiAnswer;
      if (!answer.error) return answer;
      if (isOne(CODES.notFound, answer.error)) return null;
      throw new Refused(answer.error);
    });
  }

  /**
   * Several messages in one answer, from whichever server is nearest, which may lag behind: up to where it had got is in the
   * answer. Null where it has none of them.
   */
  async batch(stream: string, ask: JsonObject): Promise<Batch | null> {
    const payload = JSON.stringify(ask);
    return this.#persist(stream, (timeout) =>
      this.#collect(`$JS.API.DIRECT.GET.${stream}`, payload, timeout),
    );
  }

  /** Deletes the message with this sequence, which needs no room. Null where it is not there any more. */
  async remove(stream: string, seq: number): Promise<true | null> {
    const done = await this.api(`STREAM.MSG.DELETE.${stream}`, { seq, no_erase: true }).catch((error) => {
      if (isRelayError(error)) throw error;
      return null;
    });
    return done && true;
  }

  /** How many messages there are under a filter, as the nearest server has them. */
  async count(stream: string, filter: string): Promise<number> {
    const found = await this.batch(stream, { seq: 1, next_by_subj: filter, batch: 1 });
    return found ? found.messages.length + found.pending : 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.nats.close();
  }

  async #get(stream: string, ask: JsonObject): Promise<Stored | null> {
    const found = await this.api(`STREAM.MSG.GET.${stream}`, ask);
    const message = found?.message as { subject: string; seq: number; data?: string } | undefined;
    return message
      ? { subject: message.subject, seq: message.seq, data: Buffer.from(message.data ?? '', 'base64') }
      : null;
  }

  async #publishBoth(subject: string, data: Uint8Array, o: PublishOptions): Promise<number | null> {
    return this.#persist(subject, async (timeout) => {
      const batch = crypto.randomUUID();
      const first = this.#publishHeaders(o.before!.expect, undefined);
      first.set('Nats-Batch-Id', batch);
      first.set('Nats-Batch-Sequence', '1');
      const headers = this.#publishHeaders(o.expect, o.ttl);
      headers.set('Nats-Batch-Id', batch);
      headers.set('Nats-Batch-Sequence', '2');
      headers.set('Nats-Batch-Commit', '1');
      this.nats.publish(o.before!.subject, o.before!.data, { headers: first });
      const answer = await this.nats.request(subject, data, { timeout, headers });
      return this.#confirmed(answer.json() as ApiAnswer);
    });
  }

  #publishHeaders(expect: number | undefined, ttl: number | undefined): MsgHdrs {
    const headers = this.#headers();
    if (expect !== undefined) headers.set('Nats-Expected-Last-Subject-Sequence', String(expect));
    if (ttl !== undefined) headers.set('Nats-TTL', `${ttl}s`);
    return headers;
  }

  #confirmed(answer: ApiAnswer): number | null {
    if (!answer.error) return answer.seq as number;
    if (isOne(CODES.lost, answer.error)) return null;
    if (isOne(CODES.atLimit, answer.error) && this.storage) throw this.storage.full();
    if (isOne(CODES.full, answer.error))
      throw new RelayError('store_full', { what: `NATS says: ${answer.error.description}` });
    throw new Refused(answer.error);
  }

  #collect(subject: string, payload: string, timeout: number): Promise<Batch | null> {
    const messages: Stored[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<Batch | null>();
    const timer = setTimeout(() => reject(new Error('the answer did not come to its end')), timeout);
    const inbox = `_INBOX.${crypto.randomUUID()}`;
    const subscription = this.nats.subscribe(inbox, {
      callback: (error, message) => {
        if (error) return reject(error);
        const status = message.headers?.code ?? 0;
        if (status === 204) {
          const figure = (name: string) => Number(message.headers!.get(name) || 0);
          const [pending, upTo] = [figure('Nats-Num-Pending'), figure('Nats-UpTo-Sequence')];
          return resolve({ messages, pending, upTo });
        }
        if (status === 404) return resolve(null);
        if (status !== 0) return reject(new Error(message.headers!.description));
        messages.push(storedOf(message));
      },
    });
    this.nats.publish(subject, payload, { reply: inbox });
    return promise.finally(() => {
      clearTimeout(timer);
      subscription.unsubscribe();
    });
  }

  /** Again and again until it is answered or too late. */
  async #persist<T>(what: string, attempt: (timeout: number) => Promise<T>): Promise<T> {
    const until = performance.now() + this.#deadlineMs;
    let timeout = ATTEMPT_MS;
    for (let wait = PAUSE_MS; ; wait = Math.min(wait * 2, PAUSE_MAX_MS)) {
      const left = until - performance.now();
      try {
        return await attempt(Math.max(1, Math.min(timeout, left)));
      } catch (error) {
        if (this.#closed) throw new RelayError('store_unavailable', { what: 'It was closed.' });
        if (isRelayError(error, 'store_full')) throw error;
        if (error instanceof Refused && !error.transient) throw error.told(what);
        const refusal = isUnheard(error) ? await this.whyRefused().catch(() => null) : null;
        if (refusal) throw refusal;
        if (left <= wait) throw unavailable(error, this.#deadlineMs);
        if (left - (until - performance.now()) >= timeout) timeout *= 2;
        await pause(wait * (0.5 + Math.random() / 2));
      }
    }
  }
}

/** What JetStream answered instead. */
class Refused extends Error {
  readonly #error: ApiError;

  constructor(error: ApiError) {
    super(error.description ?? `error ${error.err_code ?? error.code}`);
    this.#error = error;
  }

  get transient(): boolean {
    return [429, 503].includes(this.#error.code) || isOne(CODES.transient, this.#error);
  }

  told(what: string): Error {
    return new Error(`JetStream refused ${what.split('.')[0]}: ${this.message} (${this.#error.err_code})`);
  }
}

function unavailable(error: unknown, deadlineMs: number): RelayError {
  const why = error instanceof Error ? error.message : String(error);
  return new RelayError('cluster_unavailable', { seconds: Math.round(deadlineMs / 1000), what: why });
}

/** Nobody listens to the subject: there is no leader, or the stream has been frozen. */
function isUnheard(error: unknown): boolean {
  const { name, cause } = error as { name?: string; cause?: { name?: string } };
  return name === 'NoResponders' || cause?.name === 'NoResponders';
}

function isOne(codes: readonly number[], error: ApiError): boolean {
  return error.err_code !== undefined && codes.includes(error.err_code);
}

/** A message of an answer or of the live feed. */
export function storedOf(message: Msg): Stored {
  const { headers } = message;
  return {
    subject: headers?.get('Nats-Subject') ?? '',
    seq: Number(headers?.get('Nats-Sequence') ?? 0),
    data: message.data,
  };
}
