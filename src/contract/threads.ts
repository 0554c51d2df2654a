import { INCOMPLETE, type Incomplete } from '../base/enums.ts';
import { bytes, plural } from '../base/format.ts';
import type { Json, JsonObject } from '../base/json.ts';
import type { BlobBody, ByteRange } from '../kernel/blobs.ts';
import type * as shapes from '../schemas/threads.ts';
import type { Preview } from '../text/preview/preview.ts';
import { type Api, verbs } from './verb.ts';

export {
  ARTIFACT_TYPE,
  CONTENT_KINDS as ARTIFACT_TYPES,
  ENVELOPE_SCHEMA,
  READ_KINDS,
  STATE_SCHEMA,
} from '../base/enums.ts';
export type * from '../schemas/threads.ts';
export type { Preview };

export interface ArtifactFields {
  readonly name?: string;
  /** Type of the content. By default it is guessed from the name and the media type. */
  readonly type?: shapes.ArtifactType;
  readonly mime?: string;
  readonly source_refs?: readonly string[];
}

export interface ArtifactInput extends ArtifactFields {
  readonly body: BlobBody;
  readonly size?: number;
  readonly idempotency_key?: string;
  /**
   * Returns fields that are known only after the body has been read. They override the fields above, which are
   * guesses.
   */
  readonly late?: () => ArtifactFields;
}

export interface ArtifactContent {
  readonly artifact: shapes.Artifact;
  readonly body: BlobBody;
  readonly range?: ByteRange;
}

/**
 * Returns whether the relay generated this artifact as a report. Token figures ignore reports, because nobody would
 * paste one into a prompt.
 */
export function isReport({ name, provenance }: shapes.Artifact): boolean {
  return /^report-v\d+\.(?:md|json)$/.test(name) && /^v\d+$/.test(provenance.source_refs[0] ?? '');
}

/** Describes in one line the content that a search did not cover. */
export function unsearchedText({ indexing, artifacts }: shapes.Unsearched): string {
  const parts = artifacts.map(
    ({ ref, size, searched }) => `${bytes(searched)} of the ${bytes(size)} of ${ref}`,
  );
  const searched = parts.length > 0 ? `Searched only ${parts.join(', ')}.` : 'Not everything was searched.';
  const rest = indexing
    ? 'The rest is being indexed: search again in a moment.'
    : 'This relay indexes no more of one artifact.';
  return `${searched} ${rest}`;
}

/** Describes how much of an artifact was shown: `4.4 KiB of 205 KiB of app.diff`. */
export function partlyShown(
  { name, size }: Pick<shapes.Artifact, 'name' | 'size'>,
  shownBytes: number,
): string {
  return `${bytes(Math.min(shownBytes, size))} of ${bytes(size)} of ${name.replace(/\s+/g, ' ').slice(0, 80)}`;
}

/**
 * Reads from the event of a prompt which context the prompt showed only in part, how many tokens the model pulled in
 * addition, and why the answer is incomplete.
 */
export function readShortcomings(payload: { readonly [field: string]: Json | undefined }): Shortcomings {
  const incomplete = INCOMPLETE.find((why) => why === payload.incomplete);
  return {
    ...(Array.isArray(payload.partial) ? { partial: payload.partial.map(String) } : {}),
    ...(Number.isInteger(payload.pulled_tokens) ? { pulled_tokens: Number(payload.pulled_tokens) } : {}),
    ...(incomplete ? { incomplete } : {}),
  };
}

type Shortcomings = Pick<shapes.StepInstance, 'partial' | 'pulled_tokens' | 'incomplete'>;

const INCOMPLETE_ANSWER: { readonly [why in Incomplete]: (who: string) => string } = {
  cut: (who) => `The answer of ${who} was cut off at the token limit (max-tokens).`,
  refused: (who) => `${who} refused to answer.`,
  empty: (who) => `The answer of ${who} is empty.`,
};

/**
 * Returns sentences that warn about an answer: the model saw its context only in part, or the answer is incomplete.
 * `who` is the subject of the sentences.
 */
export function promptWarnings(
  who: string,
  { partial = [], pulled_tokens: pulled = 0, incomplete }: Shortcomings,
): string[] {
  const more = pulled > 0 ? `, and pulled ${plural(pulled, 'token')}` : '';
  return [
    ...(partial.length > 0 ? [`${who} saw only ${partial.join(', ')}${more}.`] : []),
    ...(incomplete ? [INCOMPLETE_ANSWER[incomplete](who)] : []),
  ];
}

type OfThread<T> = (thread_id: string) => Promise<T>;
/** With `counted: false`, the token ledger does not count the read. Use it if no model sees the result. */
type Counted = { counted?: boolean };
type Events = { events: shapes.ThreadEvent[]; next?: string };

const shared = true;
const idempotent = { idempotency_key: 'Idempotency-Key' };

const verb = verbs({ scope: 'threads', args: ['thread_id'] });

export const threads = {
  /** Creates a thread. It expires after `ttl` seconds; without `ttl` it stays until it is deleted. */
  create: verb<
    (o?: { name?: string; ttl?: number; idempotency_key?: string }) => Promise<shapes.ThreadCreated>
  >('threads.create')({
    summary: 'Create a thread',
    route: 'POST /threads',
    args: [],
    status: 201,
    headers: idempotent,
  }),
  /**
   * Lists threads, newest first. `prefix` selects ids that begin with it, `q` names that contain its words, `by`
   * threads that this caller created.
   */
  list: verb<
    (
      o?: shapes.Page & { prefix?: string; q?: string; by?: string },
    ) => Promise<{ threads: shapes.ThreadItem[]; next?: string }>
  >('threads.list')({ summary: 'List threads, newest first', route: 'GET /threads', args: [] }),
  get: verb<OfThread<shapes.ThreadInfo>>('threads.get')({
    shared,
    summary: 'Get the name, version and counts of a thread',
    route: 'GET /threads/:thread_id',
  }),
  delete: verb<OfThread<void>>('threads.delete')({
    summary: 'Delete a thread with everything in it',
    route: 'DELETE /threads/:thread_id',
    status: 204,
  }),
  state: verb<(thread_id: string, o?: Counted & { at?: shapes.VersionRef }) => Promise<shapes.State>>(
    'threads.state',
  )({
    shared,
    summary: 'Get the state of a thread, current or at any version',
    route: 'GET /threads/:thread_id/state',
  }),
  header: verb<(thread_id: string, o?: Counted) => Promise<shapes.Header>>('threads.header')({
    shared,
    summary: 'Get the header: a bounded view of the state for prompts',
    route: 'GET /threads/:thread_id/state/header',
  }),
  patch: verb<(thread_id: string, input: shapes.PatchInput) => Promise<shapes.PatchAnswer>>('threads.patch')({
    summary: 'Apply a JSON Patch (RFC 6902) to the state: the whole patch or none of it',
    route: 'POST /threads/:thread_id/state/patch',
    body: 'ops',
    headers: { if_match: 'If-Match', ...idempotent },
  }),
  /** Creates a new version that equals an old one. The versions in between stay in the history. */
  revert: verb<(thread_id: string, input: shapes.RevertInput) => Promise<shapes.PatchAnswer>>(
    'threads.revert',
  )({
    summary: 'Create a new version that equals an old one',
    route: 'POST /threads/:thread_id/state/revert',
    headers: { if_match: 'If-Match', ...idempotent },
  }),
  diff: verb<
    (thread_id: string, o: { from: shapes.VersionRef; to?: shapes.VersionRef }) => Promise<shapes.DiffAnswer>
  >('threads.diff')({
    shared,
    summary: 'Get the difference between two versions as JSON Patch',
    route: 'GET /threads/:thread_id/state/diff',
  }),
  /** Returns for each item of the state which version last changed it, who, when, and from which source. */
  blame: verb<(thread_id: string, o?: { at?: shapes.VersionRef }) => Promise<shapes.BlameAnswer>>(
    'threads.blame',
  )({
    shared,
    summary: 'For each item of the state, get its last change: version, author, time and source',
    route: 'GET /threads/:thread_id/state/blame',
  }),
  compact: verb<OfThread<shapes.CompactAnswer>>('threads.compact')({
    summary: 'Compact a long state; earlier versions stay readable',
    route: 'POST /threads/:thread_id/state/compact',
  }),
  replay: verb<OfThread<shapes.ReplayAnswer>>('threads.replay')({
    summary: 'Rebuild the state from the whole event log and compare it with the stored state',
    route: 'POST /threads/:thread_id/replay',
  }),
  /** Lists events, oldest first. With `after`, it starts after the event with this id. */
  events: verb<(thread_id: string, o?: shapes.Page) => Promise<Events>>('threads.events')({
    shared,
    summary: 'List the events of a thread, oldest first; with Accept: text/event-stream, stream them',
    route: 'GET /threads/:thread_id/events',
    byHand: 'server',
  }),
  /** Yields the events after `after`, then new events until the signal aborts. */
  watch: verb<
    (thread_id: string, o: { after?: string; signal: AbortSignal }) => AsyncIterable<shapes.ThreadEvent>
  >('threads.watch')({
    shared,
    summary: 'Stream the events of a thread',
    route: 'GET /threads/:thread_id/events',
    byHand: 'variant',
    streams: true,
  }),
  /** Appends an event with a type of your own, such as `prompt.answered`. */
  record: verb<(thread_id: string, type: string, payload?: JsonObject) => Promise<shapes.ThreadEvent>>(
    'threads.record',
  )({
    summary: 'Append an event with a type of your own',
    route: 'POST /threads/:thread_id/events',
    args: ['thread_id', 'type', 'payload'],
    status: 201,
  }),
  send: verb<(thread_id: string, envelope: shapes.EnvelopeInput) => Promise<shapes.Envelope>>('threads.send')(
    {
      summary: 'Send a message (envelope) to a capability',
      route: 'POST /threads/:thread_id/envelopes',
      status: 201,
      headers: idempotent,
    },
  ),
  envelopes: verb<
    (thread_id: string, o?: { to?: string; after?: string }) => Promise<{ envelopes: shapes.Envelope[] }>
  >('threads.envelopes')({
    summary: 'List the messages to capabilities (envelopes) that have not expired',
    route: 'GET /threads/:thread_id/envelopes',
  }),
  /**
   * Takes or renews an exclusive lease on a thread. If another client has the lease, the answer names that client.
   */
  hold: verb<(thread_id: string, o: shapes.HoldInput) => Promise<shapes.HoldAnswer>>('threads.hold')({
    summary: 'Take or renew an exclusive lease on a thread',
    route: 'POST /threads/:thread_id/hold',
    repeatable: true,
  }),
  release: verb<(thread_id: string, o: { token: string }) => Promise<void>>('threads.release')({
    summary: 'Release the lease on a thread',
    route: 'DELETE /threads/:thread_id/hold',
    status: 204,
  }),
  /** Lists runs, newest first. `pipeline` selects the runs of one pipeline. */
  runs: verb<(o?: shapes.Page & { pipeline?: string }) => Promise<shapes.RunPage>>('threads.runs')({
    summary: 'List pipeline runs, newest first',
    route: 'GET /runs',
    args: [],
  }),
  run: verb<OfThread<shapes.PipelineRun>>('threads.run')({
    shared,
    summary: 'Get a pipeline run: its steps, their dependencies and their results',
    route: 'GET /threads/:thread_id/run',
  }),
  stats: verb<OfThread<shapes.Stats>>('threads.stats')({
    shared,
    summary: 'Get the token figures of a thread',
    route: 'GET /threads/:thread_id/stats',
  }),
  /**
   * Records tokens that a client showed to a model, for clients that read with `counted: false` and show only a part
   * of what they read.
   */
  shown: verb<(thread_id: string, o: { what: shapes.ReadKind; tokens: number }) => Promise<void>>(
    'threads.shown',
  )({
    summary: 'Record how many tokens of a thread a model was shown',
    route: 'POST /threads/:thread_id/shown',
    status: 204,
  }),
  /** Returns the token figures of all threads of the caller. */
  totals: verb<() => Promise<shapes.SumStats>>('threads.totals')({
    summary: 'Get the token figures of all threads',
    route: 'GET /stats',
    args: [],
  }),
  /**
   * Exports the thread as a ZIP bundle. `damaged` lists up to 100 artifacts whose content is missing in the bundle.
   */
  export: verb<
    OfThread<{ body: ReadableStream<Uint8Array>; name: string; damaged: readonly string[] }>,
    'output'
  >('threads.export')({
    shared,
    summary:
      'Export the thread as a ZIP bundle; the header Relay-Damaged lists artifacts whose content is missing',
    route: 'GET /threads/:thread_id/export',
    byHand: 'both',
  }),
  import: verb<(bundle: BlobBody) => Promise<shapes.ImportAnswer>, 'input'>('threads.import')({
    summary: 'Import a thread from a ZIP bundle, which is the body',
    route: 'POST /threads/import',
    args: ['bundle'],
    status: 201,
    byHand: 'both',
  }),
  putArtifact: verb<(thread_id: string, input: ArtifactInput) => Promise<shapes.ArtifactCreated>, 'input'>(
    'artifacts.put',
  )({
    summary: 'Store content in a thread: as JSON, as a form with a file, or as the raw body',
    route: 'POST /threads/:thread_id/artifacts',
    status: 201,
    headers: idempotent,
    byHand: 'both',
  }),
  /** Lists artifacts, newest first. */
  artifacts: verb<
    (thread_id: string, o?: Counted & shapes.Page) => Promise<{ artifacts: shapes.Artifact[]; next?: string }>
  >('artifacts.list')({
    shared,
    summary: 'List the artifacts of a thread, newest first',
    route: 'GET /threads/:thread_id/artifacts',
  }),
  /** Returns an artifact without its content. */
  artifact: verb<
    (thread_id: string, ref: string, o?: Counted) => Promise<shapes.Artifact>,
    'input' | 'output'
  >('artifacts.get')({
    shared,
    args: ['thread_id', 'ref'],
    summary: 'Get an artifact without its content: preview, hash, sources; raw=1 returns the content',
    route: 'GET /threads/:thread_id/artifacts/:ref',
    byHand: 'server',
  }),
  content: verb<
    (thread_id: string, ref: string, o?: Counted & { range?: ByteRange }) => Promise<ArtifactContent>,
    'input' | 'output'
  >('artifacts.content')({
    shared,
    args: ['thread_id', 'ref'],
    summary: 'Get the content of an artifact, whole or a byte range',
    route: 'GET /threads/:thread_id/artifacts/:ref/content',
    byHand: 'both',
  }),
  /** Returns a part of the content, cut at `max_tokens`. Only the returned tokens are counted as read. */
  part: verb<(thread_id: string, ref: string, o: Counted & shapes.PartInput) => Promise<shapes.ArtifactPart>>(
    'artifacts.part',
  )({
    shared,
    args: ['thread_id', 'ref'],
    summary: 'Get a part of the content of an artifact: lines, matches, a JSON value or an outline',
    route: 'GET /threads/:thread_id/artifacts/:ref/part',
  }),
  /** Permanently deletes the content and the preview. The hash, the name and an event in the log stay. */
  deleteArtifact: verb<(thread_id: string, ref: string) => Promise<shapes.Artifact>>('artifacts.delete')({
    args: ['thread_id', 'ref'],
    summary: 'Permanently delete the content of an artifact; its hash and an event stay',
    route: 'DELETE /threads/:thread_id/artifacts/:ref',
    repeatable: true,
  }),
  search: verb<
    (thread_id: string, q: string, o?: Counted & { limit?: number }) => Promise<shapes.SearchAnswer>
  >('artifacts.search')({
    shared,
    summary: 'Search the artifacts and the state of a thread by words or a question, best match first',
    route: 'GET /threads/:thread_id/search',
    args: ['thread_id', 'q'],
  }),
  /** Searches the artifacts of all threads. The answer has no items of states. */
  searchAll: verb<(q: string, o?: { limit?: number }) => Promise<shapes.SearchAnswer>>(
    'artifacts.search_all',
  )({
    summary: 'Search the artifacts of all threads by words or a question, best match first',
    route: 'GET /search',
    args: ['q'],
  }),
  report: verb<(thread_id: string, o?: { format?: shapes.ReportFormat }) => Promise<shapes.ReportAnswer>>(
    'reports.make',
  )({
    summary: 'Generate a report for a thread and store it as an artifact',
    route: 'POST /reports/:thread_id',
  }),
  /**
   * Renders a thread as a prompt. Unless `dry` is set, its tokens are added to the token ledger. If the
   * answer is lost and the client repeats the call, they may be added twice.
   */
  render: verb<(thread_id: string, o?: shapes.RenderOptions) => Promise<shapes.Rendered>>('threads.render')({
    shared,
    summary: 'Render a thread as prompt messages: its state, and artifact previews in frames',
    route: 'POST /render/:thread_id',
    alsoBy: 'GET',
    query: ['format'],
    repeatable: true,
  }),
};

/** The thread API for one caller. A version is `v7` or 7. */
export interface ThreadsApi extends Api<typeof threads> {}

export const capabilities = {
  list: verb<() => Promise<{ capabilities: shapes.CapabilityInfo[] }>>('capabilities.list')({
    summary: 'List capabilities: functions that the relay can run for a thread',
    route: 'GET /cap/list',
    args: [],
  }),
  invoke: verb<(input: shapes.InvokeInput) => Promise<shapes.InvokeAnswer>>('capabilities.invoke')({
    summary: 'Run a capability; its result is stored as an artifact',
    route: 'POST /cap/invoke',
    args: [],
    headers: { idempotency_key: 'Idempotency-Key' },
  }),
};

/** The capability API for one caller. */
export interface CapabilitiesApi extends Api<typeof capabilities> {}
