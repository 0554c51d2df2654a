import { toBase64Url } from '../base/base64.ts';
import { systemEnv } from '../base/env.ts';
import { isRelayError, RelayError } from '../base/errors.ts';
import { uuid } from '../base/ids.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { IDEMPOTENCY_KEY_CHARS, INLINE_BLOB_BYTES, PART_CHARS, STORED_BYTES } from '../base/limits.ts';
import { decodeUtf8, encodeUtf8 } from '../base/utf8.ts';
import type { ChannelsApi } from '../domain/channels/types.ts';
import type { InboxApi } from '../domain/inbox/types.ts';
import type { KeysApi } from '../domain/keys/types.ts';
import type {
  Cost,
  Part,
  PartRequest,
  Peeked,
  PointersApi,
  Pulled,
  PullOptions,
  Pushed,
  PushInput,
} from '../domain/pointers/types.ts';
import type { ReceiptsApi } from '../domain/receipts/types.ts';
import type { AgentsApi, TasksApi } from '../domain/tasks/types.ts';
import type { ThreadsApi } from '../domain/threads/api.ts';
import type { CapabilitiesApi } from '../domain/threads/capabilities/api.ts';
import type { UsageApi } from '../domain/usage/types.ts';
import { HttpChannels } from './http-channels.ts';
import { type HttpAnswer, type HttpCall, HttpClient, type HttpOptions } from './http-client.ts';
import { notARelay } from './http-failure.ts';
import { HttpInbox, HttpReceipts } from './http-inbox.ts';
import { HttpKeys, HttpUsage } from './http-keys.ts';
import { HttpAgents, HttpTasks } from './http-tasks.ts';
import { HttpCapabilities, HttpThreads } from './http-threads.ts';
import type { ClientRelay } from './options.ts';
import { decoded, describedBy, metadataOf } from './relay-headers.ts';
import { brokeOff, resumingBody, startOf } from './resuming-body.ts';
import { collect, letGo } from './streams.ts';

/** A relay at the other end of HTTP. */
export class HttpRelay implements ClientRelay, AsyncDisposable {
  readonly pointers: PointersApi;
  readonly channels: ChannelsApi;
  readonly inbox: InboxApi;
  readonly receipts: ReceiptsApi;
  readonly threads: ThreadsApi;
  readonly capabilities: CapabilitiesApi;
  readonly keys: KeysApi;
  readonly usage: UsageApi;
  readonly tasks: TasksApi;
  readonly agents: AgentsApi;

  constructor(options: HttpOptions & { readonly onConnection?: (lost: Error | null) => void }) {
    const client = new HttpClient(options);
    this.pointers = new HttpPointers(client);
    this.channels = new HttpChannels(options, client);
    this.inbox = new HttpInbox(client);
    this.receipts = new HttpReceipts(client);
    this.threads = new HttpThreads(options, client);
    this.capabilities = new HttpCapabilities(client);
    this.keys = new HttpKeys(client);
    this.usage = new HttpUsage(client);
    this.tasks = new HttpTasks(client);
    this.agents = new HttpAgents(client);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Larger metadata does not pass every proxy as a header; it travels inside the body where that is text. */
const METADATA_HEADER_CHARS = 8 * 1024;
/** A part, its marks and numbers, and four bytes for each character. */
const PART_ANSWER_BYTES = 8 * PART_CHARS;
const JSON_ANSWER_BYTES = 1024 * 1024;

class HttpPointers implements PointersApi {
  readonly #client: HttpClient;

  constructor(client: HttpClient) {
    this.#client = client;
  }

  async push(input: PushInput): Promise<Pushed> {
    const body = input.late ? await collect(input.body, STORED) : input.body;
    const whole = { ...input, ...input.late?.(), body };
    // Only what can be sent again needs a key that makes the second time harmless.
    const repeatable = body instanceof Uint8Array;
    const key = input.idempotency_key ?? (repeatable ? uuid(systemEnv) : undefined);
    const call: HttpCall = {
      method: 'POST',
      path: '/push',
      repeatable,
      doing: 'push',
      ...pushRequest(whole),
    };
    const headers = { ...call.headers, ...(key === undefined ? {} : idempotency(key)) };
    return this.#client.run({ ...call, headers }, async (answer) => {
      const pushed = await this.#json(answer);
      if (typeof pushed.url !== 'string' || typeof pushed.id !== 'string')
        throw this.#strange('it gave no pointer');
      return pushed as unknown as Pushed;
    });
  }

  async pull(id: string, o: PullOptions = {}): Promise<Pulled> {
    const headers: Record<string, string> = {
      Accept: 'application/octet-stream',
      ...idempotency(o.idempotency_key ?? uuid(systemEnv)),
    };
    const call: HttpCall = { method: 'GET', path: pullPath(id), headers, repeatable: true, doing: 'pull' };
    const asked = o.range ? { ...headers, Range: rangeHeader(o.range) } : headers;
    return this.#client.run({ ...call, headers: asked }, async (answer) => {
      const known = describedBy(answer.headers, id);
      const start = startOf(answer);
      if (!known || start === null || !answer.body) {
        await letGo(answer.body);
        throw this.#strange('the payload came without its headers');
      }
      const partial = answer.status === 206;
      const end = partial && o.range ? Math.min(o.range.end, known.size) : known.size;
      const body =
        end - start <= INLINE_BLOB_BYTES
          ? await this.#whole(answer.body, end - start)
          : resumingBody(this.#client, call, answer.body, { start, end, etag: answer.headers.get('etag') });
      const metadata = metadataOf(answer.headers) ?? (await this.peek(id)).metadata;
      return { about: { ...known, metadata }, body, ...(partial ? { range: { start, end } } : {}) };
    });
  }

  async part(id: string, part: PartRequest, o: PullOptions = {}): Promise<Part> {
    const headers = idempotency(o.idempotency_key ?? uuid(systemEnv));
    return this.#get(pullPath(id), 'pull', { headers, query: partQuery(part) }, async (answer) => {
      const about = decoded(answer.headers.get('relay-part'));
      if (about === null || !answer.body) {
        await letGo(answer.body);
        throw this.#strange('it does not know parts');
      }
      const text = decodeUtf8(await collect(answer.body, { bytes: PART_ANSWER_BYTES, what: 'a part' }));
      if (text === null) throw this.#strange('the part is not text');
      return { text, about, truncated: answer.headers.get('relay-truncated') === '1' };
    });
  }

  async cost(id: string, part?: PartRequest): Promise<Cost> {
    const query = part ? partQuery(part) : new URLSearchParams();
    query.set('cost', '1');
    return this.#get(pullPath(id), 'cost', { query }, async (answer) => {
      const cost = await this.#json(answer);
      if (typeof cost.tokens !== 'number' || typeof cost.bytes !== 'number')
        throw this.#strange('it knows no cost');
      return cost as unknown as Cost;
    });
  }

  async peek(id: string): Promise<Peeked> {
    return this.#get(`/peek/${encodeURIComponent(id)}`, 'peek', {}, async (answer) => {
      const metadata = await this.#json(answer);
      const known = describedBy(answer.headers, id);
      if (!known) throw this.#strange('the metadata came without its headers');
      return { ...known, metadata };
    });
  }

  async delete(id: string): Promise<void> {
    let attempts = 0;
    const call: HttpCall = { method: 'DELETE', path: pullPath(id), repeatable: true, doing: 'delete' };
    try {
      await this.#client.run({ ...call, onAttempt: () => attempts++ }, ({ body }) => letGo(body));
    } catch (error) {
      // The first try did it and only its answer was lost.
      if (attempts > 1 && isRelayError(error, 'not_found')) return;
      throw error;
    }
  }

  #get<T>(
    path: string,
    doing: string,
    o: Pick<HttpCall, 'headers' | 'query'>,
    read: (answer: HttpAnswer) => Promise<T>,
  ): Promise<T> {
    return this.#client.run({ method: 'GET', path, repeatable: true, doing, ...o }, read);
  }

  async #json(answer: HttpAnswer): Promise<JsonObject> {
    const limit = { bytes: JSON_ANSWER_BYTES, what: 'an answer' };
    const text = answer.body ? decodeUtf8(await collect(answer.body, limit)) : null;
    try {
      const parsed: unknown = JSON.parse(text ?? '');
      if (isJsonObject(parsed)) return parsed;
    } catch {
      // Told below, whatever else it was.
    }
    throw this.#strange('it did not answer in JSON');
  }

  async #whole(body: ReadableStream<Uint8Array>, size: number): Promise<Uint8Array> {
    const whole = await collect(body, { bytes: size, what: 'a payload' });
    if (whole.byteLength < size) throw brokeOff(this.#client.base);
    return whole;
  }

  #strange(what: string): RelayError {
    return notARelay(this.#client.base, what);
  }
}

const STORED = { bytes: STORED_BYTES, what: 'a payload' };

function pullPath(id: string): string {
  return `/pull/${encodeURIComponent(id)}`;
}

/** `end` is exclusive here and inclusive on the wire. */
function rangeHeader({ start, end }: { start: number; end: number }): string {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end <= start) {
    throw new RelayError('bad_request', {
      what: 'A range goes from a byte to a later one; `end` is not part of it.',
    });
  }
  return `bytes=${start}-${end - 1}`;
}

function idempotency(key: string): Record<string, string> {
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= IDEMPOTENCY_KEY_CHARS) return { 'Idempotency-Key': key };
  throw new RelayError('bad_request', {
    what: `An idempotency key has 1 to ${IDEMPOTENCY_KEY_CHARS} printable ASCII characters and no spaces.`,
  });
}

function partQuery(part: PartRequest): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(part)) {
    if (value === undefined || value === false) continue;
    query.set(name, value === true ? '1' : String(value));
  }
  return query;
}

function pushRequest(input: PushInput): Pick<HttpCall, 'body' | 'headers' | 'query'> {
  const metadata = input.metadata && toBase64Url(encodeUtf8(JSON.stringify(input.metadata)));
  if (metadata && metadata.length > METADATA_HEADER_CHARS && input.body instanceof Uint8Array) {
    const data = decodeUtf8(input.body);
    if (data !== null) return envelopeRequest(input, data);
  }
  const query = new URLSearchParams();
  for (const name of ['channel', 'ttl', 'max_pulls', 'visibility'] as const) {
    if (input[name] !== undefined) query.set(name, String(input[name]));
  }
  if (input.count) query.set('count', '1');
  const headers = {
    'Content-Type': 'application/octet-stream',
    // Empty says that the type is not known; without it the type of the transport would be taken for it.
    'Relay-Content-Type': encodeURIComponent(input.content_type ?? ''),
    ...(metadata ? { 'Relay-Metadata': metadata } : {}),
    ...(input.sealed_key ? { 'Relay-Sealed-Key': input.sealed_key } : {}),
  };
  return { body: input.body, headers, query };
}

function envelopeRequest(input: PushInput, data: string): Pick<HttpCall, 'body' | 'headers' | 'query'> {
  const { channel, metadata, ttl, max_pulls, visibility, content_type, sealed_key } = input;
  const fields = { channel, metadata, ttl, max_pulls, visibility, content_type, sealed_key, data };
  return {
    body: encodeUtf8(JSON.stringify(fields)),
    headers: { 'Content-Type': 'application/json; charset=utf-8' },
    query: new URLSearchParams(input.count ? { count: '1' } : {}),
  };
}
