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
import { blobType, bodyOf, collect, streamOf } from './payload.ts';

/*
 * What a method here passes on to the API gives what that gives: its type is declared there.
 */

/** The threads of a relay. */
export class Threads {
  readonly #api: ThreadsApi;
  readonly #capabilities: CapabilitiesApi;

  constructor(api: ThreadsApi, capabilities: CapabilitiesApi) {
    this.#api = api;
    this.#capabilities = capabilities;
  }

  /** `ttl` is in seconds; without it the thread stays until it is deleted. */
  async create(o: { name?: string; ttl?: number } = {}): Promise<Thread> {
    return this.open((await this.#api.create(o)).thread_id);
  }

  /** A thread that is there; `not_found` where it is not. */
  async get(id: string): Promise<Thread> {
    return this.open((await this.#api.get(id)).thread_id);
  }

  /** The same without asking whether it is there. */
  open(id: string): Thread {
    return new Thread(id, this.#api, this.#capabilities);
  }

  /** Newest first. */
  list(o: Page & { prefix?: string } = {}) {
    return this.#api.list(o);
  }

  /** What all of them have saved together. */
  totals() {
    return this.#api.totals();
  }

  import(bundle: Uint8Array | ReadableStream<Uint8Array>) {
    return this.#api.import(bundle);
  }
}

/** An execution context: versioned state, artifacts, and an append-only log of events. */
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

  info() {
    return this.#api.get(this.id);
  }

  /** The bounded view that goes into a prompt. Reads are counted in the ledger, except those that are not `counted`. */
  header(o: { counted?: boolean } = {}) {
    return this.#api.header(this.id, o);
  }

  /** The whole memory, as it is or `at` a version. */
  state(o: { at?: VersionRef; counted?: boolean } = {}) {
    return this.#api.state(this.id, o);
  }

  /** Whole or not at all. With `ifMatch` it is refused where the state is at another version. */
  patch(ops: readonly PatchOp[], o: { ifMatch?: VersionRef; idempotencyKey?: string } = {}) {
    return this.#api.patch(this.id, { ops, if_match: o.ifMatch, idempotency_key: o.idempotencyKey });
  }

  /** A new version that equals an old one; nothing is taken out of the history. */
  revert(to: VersionRef, o: { ifMatch?: VersionRef; idempotencyKey?: string } = {}) {
    return this.#api.revert(this.id, { to, if_match: o.ifMatch, idempotency_key: o.idempotencyKey });
  }

  diff(from: VersionRef, to?: VersionRef) {
    return this.#api.diff(this.id, { from, to });
  }

  compact() {
    return this.#api.compact(this.id);
  }

  replay() {
    return this.#api.replay(this.id);
  }

  /** What has happened so far, oldest first, behind the event whose id is `after`. */
  async *events(o: { after?: string } = {}): AsyncGenerator<ThreadEvent> {
    let { after } = o;
    for (;;) {
      const { events, next } = await this.#api.events(this.id, { after });
      yield* events;
      if (next === undefined) return;
      after = next;
    }
  }

  /** The same, and then what happens, until the signal fires. */
  watch(o: { after?: string; signal?: AbortSignal } = {}) {
    return this.#api.watch(this.id, { after: o.after, signal: o.signal ?? new AbortController().signal });
  }

  record(type: string, payload: JsonObject = {}) {
    return this.#api.record(this.id, type, payload);
  }

  send(envelope: EnvelopeInput) {
    return this.#api.send(this.id, envelope);
  }

  async envelopes(o: { to?: string; after?: string } = {}) {
    return (await this.#api.envelopes(this.id, o)).envelopes;
  }

  /** Has a capability do its work; the result is an artifact. */
  invoke(capability: string, args: JsonObject = {}, o: { idempotencyKey?: string } = {}) {
    const idempotency_key = o.idempotencyKey;
    return this.#capabilities.invoke({ capability, thread_id: this.id, args, idempotency_key });
  }

  stats() {
    return this.#api.stats(this.id);
  }

  /** Tells the ledger what a model was shown, for a read that was not `counted`. */
  shown(what: ReadKind, tokens: number) {
    return this.#api.shown(this.id, { what, tokens });
  }

  report(format: ReportFormat = 'md') {
    return this.#api.report(this.id, { format });
  }

  /** The messages of a prompt: the state, previews in frames, and the words where there are any. */
  render(format: RenderFormat = 'openai', o: Omit<RenderOptions, 'format'> = {}) {
    return this.#api.render(this.id, { ...o, format });
  }

  /** All of it as a ZIP bundle. */
  async export() {
    return (await this.#api.export(this.id)).body;
  }

  delete() {
    return this.#api.delete(this.id);
  }
}

export interface PutOptions {
  readonly name?: string;
  /** Told from name and media type where it is missing. */
  readonly type?: ArtifactType;
  readonly mime?: string;
  readonly sourceRefs?: readonly string[];
  readonly idempotencyKey?: string;
}

/** The stored content of a thread. */
export class ThreadArtifacts {
  readonly #thread: string;
  readonly #api: ThreadsApi;

  constructor(thread: string, api: ThreadsApi) {
    this.#thread = thread;
    this.#api = api;
  }

  async put(data: PushData, o: PutOptions = {}) {
    const { name, type, mime, sourceRefs, idempotencyKey } = o;
    return this.#api.putArtifact(this.#thread, {
      body: await bodyOf(data),
      name,
      type,
      mime: mime ?? blobType(data),
      source_refs: sourceRefs,
      idempotency_key: idempotencyKey,
    });
  }

  /** What is known of it; its content is one more call away, and counted when it is made. */
  async get(ref: string): Promise<StoredArtifact> {
    const meta = await this.#api.artifact(this.#thread, ref, { counted: false });
    return new StoredArtifact(this.#thread, meta, this.#api);
  }

  /** Newest first. */
  list(o: Page & { counted?: boolean } = {}) {
    return this.#api.artifacts(this.#thread, o);
  }

  /** Deletes its content for good; hash, name and an event stay. */
  delete(ref: string): Promise<Artifact> {
    return this.#api.deleteArtifact(this.#thread, ref);
  }

  async search(query: string, o: { limit?: number; counted?: boolean } = {}) {
    return [...(await this.#api.search(this.#thread, query, o)).hits];
  }
}

export class StoredArtifact {
  readonly meta: Artifact;
  readonly #thread: string;
  readonly #api: ThreadsApi;

  constructor(thread: string, meta: Artifact, api: ThreadsApi) {
    this.meta = meta;
    this.#thread = thread;
    this.#api = api;
  }

  async stream(range?: { start: number; end: number }): Promise<ReadableStream<Uint8Array>> {
    return streamOf((await this.#api.content(this.#thread, this.meta.ref, { range })).body);
  }

  async bytes(range?: { start: number; end: number }): Promise<Uint8Array<ArrayBuffer>> {
    const { body } = await this.#api.content(this.#thread, this.meta.ref, { range });
    return collect(body, { bytes: ARTIFACT_BYTES, what: 'an artifact' });
  }

  async text(): Promise<string> {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await this.bytes());
  }
}
