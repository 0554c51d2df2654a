import { systemEnv } from '../base/env.ts';
import { uuid } from '../base/ids.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { SSE_HEARTBEAT_MS } from '../base/limits.ts';
import type { ImportAnswer, Page, ReplayAnswer, ThreadsApi } from '../domain/threads/api.ts';
import type { CapabilitiesApi } from '../domain/threads/capabilities/api.ts';
import type { InvokeAnswer, InvokeInput } from '../domain/threads/capabilities/capabilities.ts';
import type { CompactAnswer } from '../domain/threads/compactor.ts';
import type { Envelope, EnvelopeInput } from '../domain/threads/envelopes.ts';
import type { HoldAnswer, HoldInput } from '../domain/threads/holds.ts';
import type { Stats, SumStats } from '../domain/threads/ledger.ts';
import type { Rendered, RenderFormat } from '../domain/threads/render.ts';
import type { ReportAnswer, ReportFormat } from '../domain/threads/reports.ts';
import type {
  Artifact,
  ArtifactContent,
  ArtifactCreated,
  ArtifactInput,
  DiffAnswer,
  Header,
  PatchAnswer,
  PatchInput,
  SearchHit,
  State,
  ThreadCreated,
  ThreadEvent,
  ThreadInfo,
  ThreadItem,
} from '../domain/threads/types.ts';
import { followEvents } from './event-follower.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { JsonCalls } from './json-calls.ts';

/** Threads of a relay at the other end of HTTP. */
export class HttpThreads implements ThreadsApi {
  readonly #options: HttpOptions;
  readonly #client: HttpClient;
  readonly #calls: JsonCalls;

  constructor(options: HttpOptions, client: HttpClient) {
    this.#options = options;
    this.#client = client;
    this.#calls = new JsonCalls(client);
  }

  create(o: { name?: string } = {}): Promise<ThreadCreated> {
    return this.#post('/threads', o, 'thread');
  }

  list(o: Page & { prefix?: string } = {}): Promise<{ threads: ThreadItem[]; next?: string }> {
    return this.#get('/threads', 'threads', { ...o });
  }

  get(id: string): Promise<ThreadInfo> {
    return this.#get(at(id), 'thread');
  }

  delete(id: string): Promise<void> {
    return this.#calls.send({ method: 'DELETE', path: at(id), doing: 'delete thread' });
  }

  state(id: string, o: { at?: string | number } = {}): Promise<State> {
    return this.#get(at(id, 'state'), 'state', { ...o });
  }

  header(id: string): Promise<Header> {
    return this.#get(at(id, 'state/header'), 'header');
  }

  patch(id: string, { ops, if_match, idempotency_key }: PatchInput): Promise<PatchAnswer> {
    return this.#calls.call({
      method: 'POST',
      path: at(id, 'state/patch'),
      body: ops as unknown as Json,
      headers: {
        ...keyed(idempotency_key),
        ...(if_match === undefined ? {} : { 'If-Match': String(if_match) }),
      },
      repeatable: true,
      doing: 'patch',
    });
  }

  diff(id: string, o: { from: string | number; to?: string | number }): Promise<DiffAnswer> {
    return this.#get(at(id, 'state/diff'), 'diff', { ...o });
  }

  compact(id: string): Promise<CompactAnswer> {
    return this.#post(at(id, 'state/compact'), {}, 'compact');
  }

  replay(id: string): Promise<ReplayAnswer> {
    return this.#post(at(id, 'replay'), {}, 'replay');
  }

  putArtifact(id: string, input: ArtifactInput): Promise<ArtifactCreated> {
    const { body, source_refs, idempotency_key, late } = input;
    if (late) throw new TypeError('fields that come late are for servers');
    const query = new URLSearchParams({ name: input.name ?? '' });
    if (input.type) query.set('type', input.type);
    if (input.mime) query.set('mime', input.mime);
    for (const ref of source_refs ?? []) query.append('source_ref', ref);
    const whole = body instanceof Uint8Array;
    return this.#client.run(
      {
        method: 'POST',
        path: at(id, 'artifacts'),
        query,
        body,
        headers: {
          'Content-Type': 'application/octet-stream',
          ...(whole ? keyed(idempotency_key) : asked(idempotency_key)),
        },
        repeatable: whole,
        doing: 'artifact',
      },
      (answer) => this.#calls.read<ArtifactCreated>(answer),
    );
  }

  artifact(id: string, ref: string, o: { counted?: boolean } = {}): Promise<Artifact> {
    const query = o.counted === false ? { counted: 0 } : {};
    return this.#get(at(id, `artifacts/${encodeURIComponent(ref)}`), 'artifact', query);
  }

  /** The bytes come apart from what they are, so both are asked for. */
  async content(
    id: string,
    ref: string,
    o: { range?: { start: number; end: number } } = {},
  ): Promise<ArtifactContent> {
    const artifact = await this.artifact(id, ref, { counted: false });
    const { range } = o;
    const headers: Record<string, string> = { Accept: 'application/octet-stream' };
    if (range) headers.Range = `bytes=${range.start}-${range.end - 1}`;
    const path = at(id, `artifacts/${encodeURIComponent(ref)}/content`);
    const call = { method: 'GET', path, headers, repeatable: true, doing: 'artifact' } as const;
    return this.#client.run(call, async ({ body }) => ({
      artifact,
      body: body ?? new Uint8Array(0),
      ...(range ? { range } : {}),
    }));
  }

  artifacts(id: string, o: Page = {}): Promise<{ artifacts: Artifact[]; next?: string }> {
    return this.#get(at(id, 'artifacts'), 'artifacts', { ...o });
  }

  search(id: string, q: string, o: { limit?: number } = {}): Promise<{ hits: SearchHit[] }> {
    return this.#get(at(id, 'search'), 'search', { q, ...o });
  }

  events(id: string, o: Page = {}): Promise<{ events: ThreadEvent[]; next?: string }> {
    return this.#get(at(id, 'events'), 'events', { ...o });
  }

  watch(id: string, o: { after?: string; signal: AbortSignal }): AsyncIterable<ThreadEvent> {
    // It outlives any one answer; that it is still there shows in its heartbeat.
    const client = new HttpClient({
      ...this.#options,
      retries: 0,
      timeout: 4 * SSE_HEARTBEAT_MS,
      signal: o.signal,
    });
    return followEvents(client, at(id, 'events'), o);
  }

  record(id: string, type: string, payload: JsonObject): Promise<ThreadEvent> {
    return this.#post(at(id, 'events'), { type, payload }, 'event');
  }

  send(id: string, { idempotency_key, ...envelope }: EnvelopeInput): Promise<Envelope> {
    return this.#calls.call({
      method: 'POST',
      path: at(id, 'envelopes'),
      body: envelope as unknown as Json,
      headers: keyed(idempotency_key),
      repeatable: true,
      doing: 'envelope',
    });
  }

  envelopes(id: string, o: { to?: string; after?: string } = {}): Promise<{ envelopes: Envelope[] }> {
    return this.#get(at(id, 'envelopes'), 'envelopes', { ...o });
  }

  hold(id: string, o: HoldInput): Promise<HoldAnswer> {
    const body = { ...o } as Json;
    return this.#calls.call({ method: 'POST', path: at(id, 'hold'), body, repeatable: true, doing: 'hold' });
  }

  release(id: string, { token }: { token: string }): Promise<void> {
    const path = `${at(id, 'hold')}?${new URLSearchParams({ token })}`;
    return this.#calls.send({ method: 'DELETE', path, doing: 'release' });
  }

  stats(id: string): Promise<Stats> {
    return this.#get(at(id, 'stats'), 'stats');
  }

  totals(): Promise<SumStats> {
    return this.#get('/stats', 'stats');
  }

  report(id: string, o: { format?: ReportFormat } = {}): Promise<ReportAnswer> {
    return this.#post(`/reports/${encodeURIComponent(id)}`, o, 'report');
  }

  render(id: string, o: { format?: RenderFormat } = {}): Promise<Rendered> {
    return this.#get(`/render/${encodeURIComponent(id)}`, 'render', { ...o });
  }

  export(id: string): Promise<{ body: ReadableStream<Uint8Array>; name: string }> {
    const call = { method: 'GET', path: at(id, 'export'), repeatable: true, doing: 'export' } as const;
    return this.#client.run(call, async ({ body }) => ({
      body: body ?? new ReadableStream<Uint8Array>(),
      name: `thread-${id}.zip`,
    }));
  }

  import(bundle: ArtifactInput['body']): Promise<ImportAnswer> {
    return this.#client.run(
      {
        method: 'POST',
        path: '/threads/import',
        body: bundle,
        headers: { 'Content-Type': 'application/zip' },
        repeatable: false,
        doing: 'import',
      },
      (answer) => this.#calls.read<ImportAnswer>(answer),
    );
  }

  #get<T>(path: string, doing: string, query?: { [name: string]: string | number | undefined }): Promise<T> {
    return this.#calls.call({ path, query, doing });
  }

  #post<T>(path: string, body: object, doing: string): Promise<T> {
    return this.#calls.call({ method: 'POST', path, body: body as Json, doing });
  }
}

export class HttpCapabilities implements CapabilitiesApi {
  readonly #calls: JsonCalls;

  constructor(client: HttpClient) {
    this.#calls = new JsonCalls(client);
  }

  list(): ReturnType<CapabilitiesApi['list']> {
    return this.#calls.call({ path: '/cap/list', doing: 'capabilities' });
  }

  invoke({ idempotency_key, ...input }: InvokeInput): Promise<InvokeAnswer> {
    return this.#calls.call({
      method: 'POST',
      path: '/cap/invoke',
      body: input as unknown as Json,
      headers: keyed(idempotency_key),
      repeatable: true,
      doing: 'capability',
    });
  }
}

function at(id: string, what?: string): string {
  return `/threads/${encodeURIComponent(id)}${what === undefined ? '' : `/${what}`}`;
}

/** What was sent twice is still done once. */
function keyed(key: string | undefined): Record<string, string> {
  return { 'Idempotency-Key': key ?? uuid(systemEnv) };
}

function asked(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { 'Idempotency-Key': key };
}
