import type { JsonObject } from '../base/json.ts';
import { ARTIFACT_BYTES } from '../base/limits.ts';
import { everyItem } from '../base/pages.ts';
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
import type { PartRequest } from '../text/parts/part-request.ts';
import type { CallOptions, PushData } from './options.ts';
import { blobType, collect, toBody, toStream } from './payload.ts';
import type { WithSignal } from './signals.ts';

/* Methods without a declared return type return the result of the API call. */

/** Creates, opens and lists the threads of a relay. */
export class Threads {
  readonly #api: WithSignal<ThreadsApi>;
  readonly #capabilities: WithSignal<CapabilitiesApi>;

  constructor(api: WithSignal<ThreadsApi>, capabilities: WithSignal<CapabilitiesApi>) {
    this.#api = api;
    this.#capabilities = capabilities;
  }

  /** Creates a thread. `ttl` is in seconds; without it the thread stays until it is deleted. */
  async create(options: CallOptions & { name?: string; ttl?: number } = {}): Promise<Thread> {
    return this.open((await this.#api.create(options)).thread_id);
  }

  /** Returns an existing thread. Throws `not_found` if it does not exist. */
  async get(id: string, options: CallOptions = {}): Promise<Thread> {
    return this.open((await this.#api.get(id, options)).thread_id);
  }

  /** Returns a thread without checking that it exists. */
  open(id: string): Thread {
    return new Thread(id, this.#api, this.#capabilities);
  }

  /** Returns a page of threads, newest first. */
  list(options: CallOptions & Page & { prefix?: string } = {}) {
    return this.#api.list(options);
  }

  /** Returns the token savings of all threads together. */
  totals(options: CallOptions = {}) {
    return this.#api.totals(options);
  }

  /** Imports a thread from a ZIP bundle that `Thread.export` created. */
  import(bundle: Uint8Array | ReadableStream<Uint8Array>, options: CallOptions = {}) {
    return this.#api.import(bundle, options);
  }
}

/** A thread: versioned state, artifacts, and an append-only log of events. */
export class Thread {
  readonly id: string;
  readonly artifacts: ThreadArtifacts;
  readonly #api: WithSignal<ThreadsApi>;
  readonly #capabilities: WithSignal<CapabilitiesApi>;

  constructor(id: string, api: WithSignal<ThreadsApi>, capabilities: WithSignal<CapabilitiesApi>) {
    this.id = id;
    this.artifacts = new ThreadArtifacts(id, api);
    this.#api = api;
    this.#capabilities = capabilities;
  }

  /** Returns name, version, size and times of the thread. */
  info(options: CallOptions = {}) {
    return this.#api.get(this.id, options);
  }

  /**
   * Returns the header: a view of the state with a limited size, for prompts. The token ledger counts the read unless
   * `counted` is false.
   */
  header(options: CallOptions & { counted?: boolean } = {}) {
    return this.#api.header(this.id, options);
  }

  /** Returns the whole state, in its latest version or in version `at`. */
  state(options: CallOptions & { at?: VersionRef; counted?: boolean } = {}) {
    return this.#api.state(this.id, options);
  }

  /**
   * Applies a JSON Patch: all its operations or none. With `ifMatch`, rejects it if the state has another version.
   */
  patch(ops: readonly PatchOp[], options: ChangeOptions = {}) {
    const { ifMatch: if_match, idempotencyKey: idempotency_key, signal } = options;
    return this.#api.patch(this.id, { ops, if_match, idempotency_key }, { signal });
  }

  /** Creates a new version that equals an old one. The versions in between stay in the history. */
  revert(to: VersionRef, options: ChangeOptions = {}) {
    const { ifMatch: if_match, idempotencyKey: idempotency_key, signal } = options;
    return this.#api.revert(this.id, { to, if_match, idempotency_key }, { signal });
  }

  /** Returns the changes between two versions as a JSON Patch. `to` defaults to the latest version. */
  diff(from: VersionRef, to?: VersionRef, options: CallOptions = {}) {
    return this.#api.diff(this.id, { from, to }, options);
  }

  /** Shortens a long state in a new version. Earlier versions stay readable. */
  compact(options: CallOptions = {}) {
    return this.#api.compact(this.id, options);
  }

  /** Rebuilds the state from the whole event log and compares it with the stored state. */
  replay(options: CallOptions = {}) {
    return this.#api.replay(this.id, options);
  }

  /** Yields the events so far, oldest first. With `after`, starts after the event with this id. */
  events({ after: start, signal }: CallOptions & { after?: string } = {}): AsyncGenerator<ThreadEvent> {
    return everyItem<'events', ThreadEvent>('events', ({ after = start }) =>
      this.#api.events(this.id, { after }, { signal }),
    );
  }

  /** Yields the events so far and then new events as they happen, until the signal aborts. */
  watch(options: { after?: string; signal?: AbortSignal } = {}) {
    return this.#api.watch(this.id, {
      after: options.after,
      signal: options.signal ?? new AbortController().signal,
    });
  }

  /** Appends an event with a type of your own to the log. */
  record(type: string, payload: JsonObject = {}, options: CallOptions = {}) {
    return this.#api.record(this.id, type, payload, options);
  }

  /** Sends a message (envelope) to a capability. */
  send(envelope: EnvelopeInput, options: CallOptions = {}) {
    return this.#api.send(this.id, envelope, options);
  }

  /** Returns the envelopes that have not expired, oldest first. With `to`, only those for this capability. */
  async envelopes(options: CallOptions & { to?: string; after?: string } = {}) {
    return (await this.#api.envelopes(this.id, options)).envelopes;
  }

  /** Runs a capability and stores its result as an artifact. */
  invoke(capability: string, args: JsonObject = {}, options: CallOptions & { idempotencyKey?: string } = {}) {
    const { idempotencyKey: idempotency_key, signal } = options;
    return this.#capabilities.invoke({ capability, thread_id: this.id, args, idempotency_key }, { signal });
  }

  /** Returns how many tokens the thread has saved. */
  stats(options: CallOptions = {}) {
    return this.#api.stats(this.id, options);
  }

  /** Adds tokens that a model has read to the token ledger. Use it after a read with `counted: false`. */
  shown(what: ReadKind, tokens: number, options: CallOptions = {}) {
    return this.#api.shown(this.id, { what, tokens }, options);
  }

  /** Generates a report of the thread and stores it as an artifact. */
  report(format: ReportFormat = 'md', options: CallOptions = {}) {
    return this.#api.report(this.id, { format }, options);
  }

  /** Returns the thread as prompt messages: its state, previews of artifacts, and the question in `words`. */
  render(format: RenderFormat = 'openai', options: CallOptions & Omit<RenderOptions, 'format'> = {}) {
    const { signal, ...rest } = options;
    return this.#api.render(this.id, { ...rest, format }, { signal });
  }

  /** Returns the whole thread as a ZIP bundle. */
  async export(options: CallOptions = {}) {
    return (await this.#api.export(this.id, options)).body;
  }

  /** Deletes the thread with everything in it. */
  delete(options: CallOptions = {}) {
    return this.#api.delete(this.id, options);
  }
}

/** Options of a change of the state. */
export interface ChangeOptions extends CallOptions {
  /** Version that the state must have. Otherwise the change is rejected. */
  readonly ifMatch?: VersionRef;
  /** Repeated calls with this idempotency key change the state once. */
  readonly idempotencyKey?: string;
}

export interface PutOptions extends CallOptions {
  /** Name of the artifact, for example a file name. */
  readonly name?: string;
  /** Type of the artifact. Default: derived from its name and media type. */
  readonly type?: ArtifactType;
  /** Media type of the content. Default: the type of a Blob. */
  readonly mime?: string;
  /** Sources of the content, for example references of other artifacts. */
  readonly sourceRefs?: readonly string[];
  /** Idempotency key. Repeated calls with this key store only one artifact. */
  readonly idempotencyKey?: string;
}

/** Stores, reads and searches the artifacts of a thread. */
export class ThreadArtifacts {
  readonly #thread: string;
  readonly #api: WithSignal<ThreadsApi>;

  constructor(thread: string, api: WithSignal<ThreadsApi>) {
    this.#thread = thread;
    this.#api = api;
  }

  /** Stores content as a new artifact. */
  async put(data: PushData, options: PutOptions = {}) {
    const { name, type, mime, sourceRefs, idempotencyKey, signal } = options;
    const input = {
      body: await toBody(data),
      name,
      type,
      mime: mime ?? blobType(data),
      source_refs: sourceRefs,
      idempotency_key: idempotencyKey,
    };
    return this.#api.putArtifact(this.#thread, input, { signal });
  }

  /** Returns an artifact without its content. The token ledger does not count this call. */
  async get(ref: string, options: CallOptions = {}): Promise<StoredArtifact> {
    const meta = await this.#api.artifact(this.#thread, ref, { counted: false }, options);
    return new StoredArtifact(this.#thread, meta, this.#api);
  }

  /** Returns a part of an artifact: lines, matches, a JSON value or an outline. */
  part(
    ref: string,
    part: PartRequest & { counted?: boolean; max_tokens?: number },
    options: CallOptions = {},
  ) {
    return this.#api.part(this.#thread, ref, part, options);
  }

  /** Returns a page of artifacts, newest first. */
  list(options: CallOptions & Page & { counted?: boolean } = {}) {
    return this.#api.artifacts(this.#thread, options);
  }

  /** Deletes the content of an artifact permanently. The hash, the name and an event in the log stay. */
  delete(ref: string, options: CallOptions = {}): Promise<Artifact> {
    return this.#api.deleteArtifact(this.#thread, ref, options);
  }

  /** Returns the passages of artifacts that match the query, best match first. */
  async search(query: string, options: CallOptions & { limit?: number; counted?: boolean } = {}) {
    return [...(await this.#api.search(this.#thread, query, options)).hits];
  }
}

/** An artifact whose content can be read. */
export class StoredArtifact {
  readonly meta: Artifact;
  readonly #thread: string;
  readonly #api: WithSignal<ThreadsApi>;

  constructor(thread: string, meta: Artifact, api: WithSignal<ThreadsApi>) {
    this.meta = meta;
    this.#thread = thread;
    this.#api = api;
  }

  /** Returns the content, or a byte range of it, as a stream. `end` is exclusive. */
  async stream(
    range?: { start: number; end: number },
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return toStream((await this.#api.content(this.#thread, this.meta.ref, { range }, options)).body);
  }

  /** Returns the content, or a byte range of it. `end` is exclusive. */
  async bytes(
    range?: { start: number; end: number },
    options: CallOptions = {},
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { body } = await this.#api.content(this.#thread, this.meta.ref, { range }, options);
    return collect(body, { bytes: ARTIFACT_BYTES, what: 'an artifact' });
  }

  /** Returns the content as text, decoded as UTF-8. */
  async text(options: CallOptions = {}): Promise<string> {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await this.bytes(undefined, options));
  }
}
