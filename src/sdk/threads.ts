import type { JsonObject } from '../base/json.ts';
import { ARTIFACT_BYTES } from '../base/limits.ts';
import type {
  Artifact,
  ArtifactType,
  CapabilitiesApi,
  EnvelopeInput,
  Page,
  ReadKind,
  RenderFormat,
  RenderOptions,
  ReportFormat,
  ThreadEvent,
  ThreadsApi,
  VersionRef,
} from '../contract/threads.ts';
import type { PatchOp } from '../formats/json-patch/apply.ts';
import type { PushData } from './options.ts';
import { blobType, collect, toBody, toStream } from './payload.ts';

/*
 * Methods without a declared return type return the result of the API method that they call.
 */

/** Creates, opens and lists the threads of a relay. */
export class Threads {
  readonly #api: ThreadsApi;
  readonly #capabilities: CapabilitiesApi;

  constructor(api: ThreadsApi, capabilities: CapabilitiesApi) {
    this.#api = api;
    this.#capabilities = capabilities;
  }

  /** Creates a thread. `ttl` is in seconds; without it the thread stays until it is deleted. */
  async create(options: { name?: string; ttl?: number } = {}): Promise<Thread> {
    return this.open((await this.#api.create(options)).thread_id);
  }

  /** Returns an existing thread. Throws `not_found` if it does not exist. */
  async get(id: string): Promise<Thread> {
    return this.open((await this.#api.get(id)).thread_id);
  }

  /** Returns a thread without checking that it exists. */
  open(id: string): Thread {
    return new Thread(id, this.#api, this.#capabilities);
  }

  /** Returns a page of threads, newest first. */
  list(options: Page & { prefix?: string } = {}) {
    return this.#api.list(options);
  }

  /** Returns the token savings of all threads together. */
  totals() {
    return this.#api.totals();
  }

  /** Imports a thread from a ZIP bundle that `Thread.export` created. */
  import(bundle: Uint8Array | ReadableStream<Uint8Array>) {
    return this.#api.import(bundle);
  }
}

/** A thread: versioned state, artifacts, and an append-only log of events. */
export class Thread {
  readonly id: string;
  readonly artifacts: ThreadArtifacts;
  readonly #api: ThreadsApi;
  readonly #capabilities: CapabilitiesApi;

  constructor(id: string, api: ThreadsApi, capabilities: CapabilitiesApi) {
    this.id = id;
    this.artifacts = new ThreadArtifacts(id, api);
    this.#api = api;
    this.#capabilities = capabilities;
  }

  /** Returns name, version, size and times of the thread. */
  info() {
    return this.#api.get(this.id);
  }

  /**
   * Returns the header: a view of the state with a limited size, for prompts. The token ledger counts this
   * read, unless `counted` is false.
   */
  header(options: { counted?: boolean } = {}) {
    return this.#api.header(this.id, options);
  }

  /** Returns the complete state, in its latest version or in version `at`. */
  state(options: { at?: VersionRef; counted?: boolean } = {}) {
    return this.#api.state(this.id, options);
  }

  /** Applies all operations of a JSON Patch or none. With `ifMatch`, rejects the patch if the state has another version. */
  patch(ops: readonly PatchOp[], options: { ifMatch?: VersionRef; idempotencyKey?: string } = {}) {
    return this.#api.patch(this.id, {
      ops,
      if_match: options.ifMatch,
      idempotency_key: options.idempotencyKey,
    });
  }

  /**
   * Creates a new version with the content of an old version. All versions in between stay in the history.
   */
  revert(to: VersionRef, options: { ifMatch?: VersionRef; idempotencyKey?: string } = {}) {
    return this.#api.revert(this.id, {
      to,
      if_match: options.ifMatch,
      idempotency_key: options.idempotencyKey,
    });
  }

  /** Returns the changes between two versions as a JSON Patch. `to` defaults to the latest version. */
  diff(from: VersionRef, to?: VersionRef) {
    return this.#api.diff(this.id, { from, to });
  }

  /** Shortens a long state in a new version. Earlier versions stay readable. */
  compact() {
    return this.#api.compact(this.id);
  }

  /** Rebuilds the state from the whole event log and compares it with the stored state. */
  replay() {
    return this.#api.replay(this.id);
  }

  /** Yields the events so far, oldest first. With `after`, it starts after the event with this id. */
  async *events(options: { after?: string } = {}): AsyncGenerator<ThreadEvent> {
    let { after } = options;
    for (;;) {
      const { events, next } = await this.#api.events(this.id, { after });
      yield* events;
      if (next === undefined) return;
      after = next;
    }
  }

  /** Yields the events so far and then new events as they happen, until the signal aborts. */
  watch(options: { after?: string; signal?: AbortSignal } = {}) {
    return this.#api.watch(this.id, {
      after: options.after,
      signal: options.signal ?? new AbortController().signal,
    });
  }

  /** Appends an event of your own type to the log. */
  record(type: string, payload: JsonObject = {}) {
    return this.#api.record(this.id, type, payload);
  }

  /** Sends an envelope to a capability. */
  send(envelope: EnvelopeInput) {
    return this.#api.send(this.id, envelope);
  }

  /** Returns the envelopes that have not expired, oldest first. With `to`, only the envelopes for this capability. */
  async envelopes(options: { to?: string; after?: string } = {}) {
    return (await this.#api.envelopes(this.id, options)).envelopes;
  }

  /** Runs a capability and stores its result as an artifact. */
  invoke(capability: string, args: JsonObject = {}, options: { idempotencyKey?: string } = {}) {
    const idempotency_key = options.idempotencyKey;
    return this.#capabilities.invoke({ capability, thread_id: this.id, args, idempotency_key });
  }

  /** Returns how many tokens the thread has saved. */
  stats() {
    return this.#api.stats(this.id);
  }

  /** Adds tokens that a model has read to the token ledger. Use it after a read with `counted: false`. */
  shown(what: ReadKind, tokens: number) {
    return this.#api.shown(this.id, { what, tokens });
  }

  /** Generates a report of the thread and stores it as an artifact. */
  report(format: ReportFormat = 'md') {
    return this.#api.report(this.id, { format });
  }

  /**
   * Returns the thread as prompt messages: its state, previews of artifacts, and the question in `words`, if
   * there is one.
   */
  render(format: RenderFormat = 'openai', options: Omit<RenderOptions, 'format'> = {}) {
    return this.#api.render(this.id, { ...options, format });
  }

  /** Returns the whole thread as a ZIP bundle. */
  async export() {
    return (await this.#api.export(this.id)).body;
  }

  /** Deletes the thread with everything in it. */
  delete() {
    return this.#api.delete(this.id);
  }
}

export interface PutOptions {
  /** Name of the artifact, for example a file name. */
  readonly name?: string;
  /** Type of the artifact. Default: derived from its name and media type. */
  readonly type?: ArtifactType;
  /** Media type of the content. Default: the type of a Blob. */
  readonly mime?: string;
  /** Sources of the content, for example references of other artifacts. */
  readonly sourceRefs?: readonly string[];
  /** Idempotency key. Repeated calls with the same idempotency key store only one artifact. */
  readonly idempotencyKey?: string;
}

/** Stores, reads and searches the artifacts of a thread. */
export class ThreadArtifacts {
  readonly #thread: string;
  readonly #api: ThreadsApi;

  constructor(thread: string, api: ThreadsApi) {
    this.#thread = thread;
    this.#api = api;
  }

  /** Stores content as a new artifact. */
  async put(data: PushData, options: PutOptions = {}) {
    const { name, type, mime, sourceRefs, idempotencyKey } = options;
    return this.#api.putArtifact(this.#thread, {
      body: await toBody(data),
      name,
      type,
      mime: mime ?? blobType(data),
      source_refs: sourceRefs,
      idempotency_key: idempotencyKey,
    });
  }

  /**
   * Returns an artifact without its content. Reading the content is a second call, which the token ledger
   * counts.
   */
  async get(ref: string): Promise<StoredArtifact> {
    const meta = await this.#api.artifact(this.#thread, ref, { counted: false });
    return new StoredArtifact(this.#thread, meta, this.#api);
  }

  /** Returns a page of artifacts, newest first. */
  list(options: Page & { counted?: boolean } = {}) {
    return this.#api.artifacts(this.#thread, options);
  }

  /** Deletes the content of an artifact permanently. The hash, the name and an event in the log stay. */
  delete(ref: string): Promise<Artifact> {
    return this.#api.deleteArtifact(this.#thread, ref);
  }

  /** Returns the passages of artifacts that match the query, best match first. */
  async search(query: string, options: { limit?: number; counted?: boolean } = {}) {
    return [...(await this.#api.search(this.#thread, query, options)).hits];
  }
}

/** An artifact whose content can be read. */
export class StoredArtifact {
  readonly meta: Artifact;
  readonly #thread: string;
  readonly #api: ThreadsApi;

  constructor(thread: string, meta: Artifact, api: ThreadsApi) {
    this.meta = meta;
    this.#thread = thread;
    this.#api = api;
  }

  /** Returns the content, or a byte range of it, as a stream. `end` is exclusive. */
  async stream(range?: { start: number; end: number }): Promise<ReadableStream<Uint8Array>> {
    return toStream((await this.#api.content(this.#thread, this.meta.ref, { range })).body);
  }

  /** Returns the content, or a byte range of it. `end` is exclusive. */
  async bytes(range?: { start: number; end: number }): Promise<Uint8Array<ArrayBuffer>> {
    const { body } = await this.#api.content(this.#thread, this.meta.ref, { range });
    return collect(body, { bytes: ARTIFACT_BYTES, what: 'an artifact' });
  }

  /** Returns the content as text, decoded as UTF-8. */
  async text(): Promise<string> {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await this.bytes());
  }
}
