import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node';
import { isRelayError, RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { ConcurrencyLimit } from '../../base/map-concurrent.ts';
import { pause } from '../../base/pause.ts';

/**
 * Time in ms after which a call fails if JetStream has not confirmed it. It leaves time to elect a leader,
 * which takes some seconds.
 */
const DEADLINE_MS = 20_000;
/**
 * Timeout of the first attempt, in ms. It doubles after each attempt that times out, because the leader may only be
 * slow.
 */
const ATTEMPT_MS = 4_000;
/**
 * Timeout of the first attempt of a read, in ms. It is short, because repeating a read is harmless and a node may
 * hang.
 */
const READ_ATTEMPT_MS = 500;
/** Time in ms for which reads go to the leader after a replica did not answer. */
const LEADER_ONLY_MS = 10_000;
/**
 * Maximum number of unacknowledged messages. If there were more, they would wait at a slow leader, time out and be
 * sent twice.
 */
const CONCURRENT_PUBLISHES = 256;
/**
 * Maximum number of atomic batches in flight from this server. JetStream allows 50 per stream for all servers
 * together.
 */
const CONCURRENT_BATCHES = 12;
/** Estimated bytes that the store needs for a message in addition to its data. */
const OVERHEAD_BYTES = 128;
const PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;

/** JetStream error codes, grouped by how this file handles them. */
const CODES = {
  notFound: [10037, 10059],
  /** The expected last sequence of the subject is wrong, or another write to the subject is in progress. */
  conflict: [10071, 10164],
  /**
   * Errors that are worth a retry: there is no leader, a new leader has only part of a batch, or an earlier attempt
   * with this message id is undecided. Errors with status 429 or 503 are retried too.
   */
  transient: [10007, 10009, 10118, 10158, 10176],
  /** The account is at its storage limit. */
  accountFull: [10002],
  /** The account or a server is out of storage. */
  storageFull: [10002, 10023, 10047],
} as const;

/** A message that is stored in a stream. */
export interface Message {
  readonly subject: string;
  readonly seq: number;
  readonly data: Uint8Array;
}

export interface PublishOptions {
  /** Sequence that the last message of the subject must have; 0 means that the subject must be empty. */
  readonly expect?: number;
  /** Seconds after which JetStream deletes the message. */
  readonly ttl?: number;
  /** Message that is stored directly before this message, in the same atomic batch. */
  readonly before?: { readonly subject: string; readonly data: Uint8Array; readonly expect?: number };
  /** True if the write is part of a deletion. It may then use the storage that is reserved for deletions. */
  readonly frees?: boolean;
}

/** The storage limit of the account. */
export interface StorageLimit {
  /** True if new data must wait for `admit`. */
  readonly isTight: boolean;
  /** Rejects with `store_full` if there is no room for new data. */
  admit(): Promise<void>;
  /** Returns the `store_full` error of this account. */
  full(): RelayError;
}

/** Several messages from one response of a replica. */
export interface Batch {
  readonly messages: Message[];
  /** Number of matching messages that did not fit into this response. */
  readonly pending: number;
  /** Last sequence of the stream that the replica had when it answered. */
  readonly upTo: number;
}

/** Configuration of a stream, with the fields that this engine reads. */
export type StreamConfig = JsonObject & {
  readonly name: string;
  readonly subjects: string[];
  readonly num_replicas: number;
  readonly first_seq?: number;
  readonly republish?: JsonObject;
  readonly metadata?: { readonly [key: string]: string };
};

/** Configuration and state of a stream, as JetStream reports them. */
export interface StreamInfo {
  readonly created: string;
  /** Time of the leader when it answered. */
  readonly ts?: string;
  /** Number of matching subjects on all pages, if the request has a subject filter. */
  readonly total?: number;
  readonly config: StreamConfig;
  readonly state: {
    readonly messages: number;
    readonly bytes: number;
    readonly last_seq: number;
    readonly num_subjects?: number;
    readonly subjects?: { readonly [subject: string]: number };
  };
  readonly cluster?: {
    readonly leader?: string;
    readonly replicas?: readonly {
      readonly name: string;
      readonly current: boolean;
      readonly lag?: number;
    }[];
  };
}

/** A part of the NATS client that is missing in its types. */
interface WithSocket {
  readonly protocol: { readonly transport: { readonly socket?: { destroy(): void } } };
}

interface ApiError {
  readonly code: number;
  readonly err_code?: number;
  readonly description?: string;
}

type ApiAnswer = JsonObject & { error?: ApiError };

/**
 * JetStream calls of the ports. Each call is retried until JetStream answers or the deadline passes, so a change of
 * leader costs time but causes no error. A repeated publish keeps its message id and its expected sequence. Reads
 * that must be current go to the leader.
 */
export class Connection {
  readonly nats: NatsConnection;
  readonly #headers: () => MsgHdrs;
  readonly #deadlineMs: number;
  readonly #publishing = new ConcurrencyLimit(CONCURRENT_PUBLISHES);
  readonly #batching = new ConcurrencyLimit(CONCURRENT_BATCHES);
  #closed = false;
  /**
   * Called if no server listens on a subject, as in a frozen store, and before a deletion while `frozen` is
   * true. Returns an error if the store is frozen, otherwise null.
   */
  findFreezeError: () => Promise<RelayError | null> = async () => null;
  /** Called when the client has connected again. */
  onReconnect: () => void = () => {};
  /** Storage limit of the account. Null until the engine sets it. */
  storage: StorageLimit | null = null;
  /** Number of bytes that this process has published since it started. */
  publishedBytes = 0;
  /** True while the store is frozen. JetStream would still accept purges and deletions, so `api` rejects them. */
  frozen = false;
  /** Number of attempts that were repeated since the start. */
  retries = 0;
  /** Number of times that the client connected again since the start. */
  reconnects = 0;
  /** Time until which only the leader is asked, because a replica did not answer. */
  #leaderOnlyUntil = 0;

  constructor(nats: NatsConnection, headers: () => MsgHdrs, deadlineMs = DEADLINE_MS) {
    this.nats = nats;
    this.#headers = headers;
    this.#deadlineMs = deadlineMs;
    void this.#watchConnection();
  }

  /** Publishes a message. Returns its sequence, or null if the expected sequence did not match. */
  async publish(subject: string, data: Uint8Array, o: PublishOptions = {}): Promise<number | null> {
    if (!o.frees && this.storage?.isTight) await this.storage.admit();
    this.publishedBytes += data.length + (o.before?.data.length ?? 0) + OVERHEAD_BYTES;
    if (o.before) return this.#batching.run(() => this.#publishBoth(subject, data, o));
    const headers = this.#publishHeaders(o.expect, o.ttl);
    headers.set('Nats-Msg-Id', crypto.randomUUID());
    const attempt = async (timeout: number) => {
      const answer = await this.nats.request(subject, data, { timeout, headers });
      return this.#parseAck(answer.json() as ApiAnswer);
    };
    return this.#publishing.run(() => this.#retry(subject, attempt, { writes: true }));
  }

  /** Reads the last message of a subject from the leader of the stream. */
  async last(stream: string, subject: string): Promise<Message | null> {
    return this.#get(stream, { last_by_subj: subject });
  }

  /** Reads the first message of a subject at or after sequence `from`, from the leader of the stream. */
  async next(stream: string, subject: string, from: number): Promise<Message | null> {
    return this.#get(stream, { seq: Math.max(from, 1), next_by_subj: subject });
  }

  /** Sends a request to the JetStream API. Returns null if JetStream answers "not found". */
  async api(what: string, body: JsonObject = {}): Promise<JsonObject | null> {
    const payload = JSON.stringify(body);
    if (this.frozen && /^STREAM\.(PURGE|MSG\.DELETE)\./.test(what)) {
      const refusal = await this.findFreezeError();
      if (refusal) throw refusal;
    }
    const isRead = /^STREAM\.(MSG\.GET|INFO)\./.test(what);
    const attempt = async (timeout: number) => {
      const message = await this.nats.request(`$JS.API.${what}`, payload, { timeout });
      const answer = message.json() as ApiAnswer;
      if (!answer.error) return answer;
      if (hasCode(CODES.notFound, answer.error)) return null;
      throw new JetStreamError(answer.error);
    };
    return this.#retry(what, attempt, { firstMs: isRead ? READ_ATTEMPT_MS : ATTEMPT_MS });
  }

  /** Returns the configuration and the state of a stream, from its leader. */
  async info(stream: string, request: JsonObject = {}): Promise<StreamInfo> {
    return (await this.api(`STREAM.INFO.${stream}`, request)) as unknown as StreamInfo;
  }

  /** Deletes the messages that match a subject filter; with `before`, only those with smaller sequences. */
  async purge(stream: string, filter: string, before?: number): Promise<void> {
    // JetStream treats sequence 1 as no limit and would delete all matching messages.
    if (before !== undefined && before <= 1) return;
    await this.api(`STREAM.PURGE.${stream}`, before === undefined ? { filter } : { filter, seq: before });
  }

  /**
   * Reads several messages with one request from a replica that NATS chooses. The replica may lag; `upTo` is its last
   * sequence. Returns null if the replica has no matching message or does not answer: the caller must then ask the
   * leader. After a replica did not answer, only the leader is asked for a while, because NATS could choose that
   * replica again.
   */
  async batch(stream: string, ask: JsonObject): Promise<Batch | null> {
    if (performance.now() < this.#leaderOnlyUntil) return null;
    try {
      return await this.#askReplica(stream, ask, READ_ATTEMPT_MS);
    } catch (error) {
      if (this.#closed) throw storeClosed();
      if (error instanceof SilentReplica) this.#leaderOnlyUntil = performance.now() + LEADER_ONLY_MS;
      this.retries++;
      return null;
    }
  }

  /**
   * Reads the messages of a subject from sequence `from` on: a batch from a replica, or only the next message from
   * the leader if the replica has none.
   */
  async messagesFrom(
    stream: string,
    subject: string,
    from: number,
    limits: { readonly batch: number; readonly max_bytes: number },
  ): Promise<Message[]> {
    const found = await this.batch(stream, { seq: from, next_by_subj: subject, ...limits });
    if (found && found.messages.length > 0) return found.messages;
    const next = await this.next(stream, subject, from);
    return next ? [next] : [];
  }

  /**
   * Like `batch`, but repeats the request until a replica answers. It is used for requests that cannot be
   * sent to the leader.
   */
  async batchFromAny(stream: string, ask: JsonObject): Promise<Batch | null> {
    const attempt = (timeout: number) => this.#askReplica(stream, ask, timeout);
    return this.#retry(stream, attempt, { firstMs: READ_ATTEMPT_MS });
  }

  /**
   * Deletes the message with this sequence, which needs no free storage. Returns null if the message does not
   * exist or JetStream rejects the deletion.
   */
  async remove(stream: string, seq: number): Promise<true | null> {
    const done = await this.api(`STREAM.MSG.DELETE.${stream}`, { seq, no_erase: true }).catch((error) => {
      if (isRelayError(error)) throw error;
      return null;
    });
    return done && true;
  }

  /** Returns the number of messages that match a subject filter. Any replica may answer, even one that lags. */
  async count(stream: string, filter: string): Promise<number> {
    const found = await this.batchFromAny(stream, { seq: 1, next_by_subj: filter, batch: 1 });
    return found ? found.messages.length + found.pending : 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.nats.close();
  }

  /**
   * Counts reconnects. Destroys the socket of a node that does not answer pings. Otherwise the client would wait
   * until the node has read all sent data, which a node that hangs never does.
   */
  async #watchConnection(): Promise<void> {
    for await (const { type } of this.nats.status()) {
      if (type === 'reconnect') {
        this.reconnects++;
        this.onReconnect();
      } else if (type === 'staleConnection')
        (this.nats as unknown as WithSocket).protocol.transport.socket?.destroy();
    }
  }

  async #get(stream: string, ask: JsonObject): Promise<Message | null> {
    const found = await this.api(`STREAM.MSG.GET.${stream}`, ask);
    const message = found?.message as { subject: string; seq: number; data?: string } | undefined;
    return message
      ? { subject: message.subject, seq: message.seq, data: Buffer.from(message.data ?? '', 'base64') }
      : null;
  }

  async #publishBoth(subject: string, data: Uint8Array, o: PublishOptions): Promise<number | null> {
    const attempt = async (timeout: number) => {
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
      return this.#parseAck(answer.json() as ApiAnswer);
    };
    return this.#retry(subject, attempt, { writes: true });
  }

  #publishHeaders(expect: number | undefined, ttl: number | undefined): MsgHdrs {
    const headers = this.#headers();
    if (expect !== undefined) headers.set('Nats-Expected-Last-Subject-Sequence', String(expect));
    if (ttl !== undefined) headers.set('Nats-TTL', `${ttl}s`);
    return headers;
  }

  #parseAck(answer: ApiAnswer): number | null {
    if (!answer.error) return answer.seq as number;
    if (hasCode(CODES.conflict, answer.error)) return null;
    if (hasCode(CODES.accountFull, answer.error) && this.storage) throw this.storage.full();
    if (hasCode(CODES.storageFull, answer.error))
      throw new RelayError('store_full', { what: `NATS says: ${answer.error.description}` });
    throw new JetStreamError(answer.error);
  }

  /** Sends a request to a replica. Rejects if nothing arrives for `timeout` ms. */
  #askReplica(stream: string, ask: JsonObject, timeout: number): Promise<Batch | null> {
    const messages: Message[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<Batch | null>();
    const timer = setTimeout(() => reject(new SilentReplica('the response was incomplete')), timeout);
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
        messages.push(parseMessage(message));
        timer.refresh();
      },
    });
    this.nats.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(ask), { reply: inbox });
    return promise.finally(() => {
      clearTimeout(timer);
      subscription.unsubscribe();
    });
  }

  /** Repeats an attempt until it succeeds, fails with a permanent error, or the deadline passes. */
  async #retry<T>(
    what: string,
    attempt: (timeout: number) => Promise<T>,
    { firstMs = ATTEMPT_MS, writes = false }: { firstMs?: number; writes?: boolean },
  ): Promise<T> {
    const until = performance.now() + this.#deadlineMs;
    let timeout = firstMs;
    for (let wait = PAUSE_MS; ; wait = Math.min(wait * 2, MAX_PAUSE_MS)) {
      const left = until - performance.now();
      try {
        return await attempt(Math.max(1, Math.min(timeout, left)));
      } catch (error) {
        if (this.#closed) throw storeClosed();
        if (isRelayError(error, 'store_full')) throw error;
        if (error instanceof JetStreamError && !error.transient) throw error.toError(what);
        const refusal = hasNoResponders(error) ? await this.findFreezeError().catch(() => null) : null;
        if (refusal) throw refusal;
        if (left <= wait) throw unavailable(error, this.#deadlineMs, writes);
        if (left - (until - performance.now()) >= timeout) timeout *= 2;
        this.retries++;
        await pause(wait * (0.5 + Math.random() / 2));
      }
    }
  }
}

/** Thrown if a replica does not answer before the timeout. */
class SilentReplica extends Error {}

function storeClosed(): RelayError {
  return new RelayError('store_unavailable', {
    what: 'It was closed.',
    hint: 'The program is stopping or has stopped. Start it and try again.',
  });
}

/** An error response of JetStream. */
class JetStreamError extends Error {
  readonly #error: ApiError;

  constructor(error: ApiError) {
    super(error.description ?? `error ${error.err_code ?? error.code}`);
    this.#error = error;
  }

  get transient(): boolean {
    return [429, 503].includes(this.#error.code) || hasCode(CODES.transient, this.#error);
  }

  toError(what: string): Error {
    return new Error(`JetStream refused ${what.split('.')[0]}: ${this.message} (${this.#error.err_code})`);
  }
}

/**
 * Returns the error of a call that got no answer. `writes` is true if the call may have stored data. The message
 * never contains an internal subject.
 */
function unavailable(error: unknown, deadlineMs: number, writes: boolean): RelayError {
  const why = hasNoResponders(error)
    ? 'no server leads the stream'
    : error instanceof JetStreamError
      ? error.message
      : 'no answer came in time';
  const stored = writes ? 'The data may have been stored. ' : '';
  const sameKey = writes ? ', with the same Idempotency-Key' : '';
  const todo = `${stored}Try again in a moment${sameKey}.`;
  return new RelayError(
    'cluster_unavailable',
    { seconds: Math.round(deadlineMs / 1000), what: why, todo },
    error,
  );
}

/** Returns whether no server listens on the subject, because the stream has no leader or is frozen. */
function hasNoResponders(error: unknown): boolean {
  const { name, cause } = error as { name?: string; cause?: { name?: string } };
  return name === 'NoResponders' || cause?.name === 'NoResponders';
}

function hasCode(codes: readonly number[], error: ApiError): boolean {
  return error.err_code !== undefined && codes.includes(error.err_code);
}

/** Converts a message of a batch response or of the live feed. */
export function parseMessage(message: Msg): Message {
  const { headers } = message;
  return {
    subject: headers?.get('Nats-Subject') ?? '',
    seq: Number(headers?.get('Nats-Sequence') ?? 0),
    data: message.data,
  };
}
