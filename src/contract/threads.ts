import { bytes } from '../base/format.ts';
import type { JsonObject } from '../base/json.ts';
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
  /** Told from name and media type where it is missing. */
  readonly type?: shapes.ArtifactType;
  readonly mime?: string;
  readonly source_refs?: readonly string[];
}

export interface ArtifactInput extends ArtifactFields {
  readonly body: BlobBody;
  readonly size?: number;
  readonly idempotency_key?: string;
  /** Fields that are known only once the body has been read; they count instead of those above, which are what is likely. */
  readonly late?: () => ArtifactFields;
}

export interface ArtifactContent {
  readonly artifact: shapes.Artifact;
  readonly body: BlobBody;
  readonly range?: ByteRange;
}

/** One line that says what a search did not see. */
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

type OfThread<T> = (thread_id: string) => Promise<T>;
/** A look that no model gets to see need not be counted as a read. */
type Counted = { counted?: boolean };
type Events = { events: shapes.ThreadEvent[]; next?: string };

const shared = true;
const idempotent = { idempotency_key: 'Idempotency-Key' };

const verb = verbs({ scope: 'threads', args: ['thread_id'] });

export const threads = {
  /** `ttl` is in seconds; without it the thread stays until it is deleted. */
  create: verb<(o?: { name?: string; ttl?: number }) => Promise<shapes.ThreadCreated>>('threads.create')({
    summary: 'Begin a thread',
    route: 'POST /threads',
    args: [],
    status: 201,
  }),
  /** Newest first. `prefix` narrows it to ids that begin so. */
  list: verb<
    (o?: shapes.Page & { prefix?: string }) => Promise<{ threads: shapes.ThreadItem[]; next?: string }>
  >('threads.list')({ summary: 'The threads there are, newest first', route: 'GET /threads', args: [] }),
  get: verb<OfThread<shapes.ThreadInfo>>('threads.get')({
    shared,
    summary: 'A thread in numbers',
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
    summary: 'The whole memory of a thread, as it is or at any version',
    route: 'GET /threads/:thread_id/state',
  }),
  header: verb<(thread_id: string, o?: Counted) => Promise<shapes.Header>>('threads.header')({
    shared,
    summary: 'The bounded view of the state that goes into a prompt',
    route: 'GET /threads/:thread_id/state/header',
  }),
  patch: verb<(thread_id: string, input: shapes.PatchInput) => Promise<shapes.PatchAnswer>>('threads.patch')({
    summary: 'Change the state by JSON Patch (RFC 6902), whole or not at all',
    route: 'POST /threads/:thread_id/state/patch',
    body: 'ops',
    headers: { if_match: 'If-Match', ...idempotent },
  }),
  /** A new version that equals an old one; nothing is taken out of the history. */
  revert: verb<(thread_id: string, input: shapes.RevertInput) => Promise<shapes.PatchAnswer>>(
    'threads.revert',
  )({
    summary: 'Make a new version that equals an old one',
    route: 'POST /threads/:thread_id/state/revert',
    headers: { if_match: 'If-Match', ...idempotent },
  }),
  diff: verb<
    (thread_id: string, o: { from: shapes.VersionRef; to?: shapes.VersionRef }) => Promise<shapes.DiffAnswer>
  >('threads.diff')({
    shared,
    summary: 'What changed between two versions, as JSON Patch',
    route: 'GET /threads/:thread_id/state/diff',
  }),
  /** Which version each item of the state comes from, who made that, when, and from what. */
  blame: verb<(thread_id: string, o?: { at?: shapes.VersionRef }) => Promise<shapes.BlameAnswer>>(
    'threads.blame',
  )({
    shared,
    summary: 'Which version each item of the state comes from, who made it, when, and from what',
    route: 'GET /threads/:thread_id/state/blame',
  }),
  compact: verb<OfThread<shapes.CompactAnswer>>('threads.compact')({
    summary: 'Shorten a state that has grown long; earlier versions stay',
    route: 'POST /threads/:thread_id/state/compact',
  }),
  replay: verb<OfThread<shapes.ReplayAnswer>>('threads.replay')({
    summary: 'Fold the whole log again and compare',
    route: 'POST /threads/:thread_id/replay',
  }),
  /** Oldest first, behind the event `after`. */
  events: verb<(thread_id: string, o?: shapes.Page) => Promise<Events>>('threads.events')({
    shared,
    summary: 'What happened in a thread, oldest first; with Accept: text/event-stream, as it happens',
    route: 'GET /threads/:thread_id/events',
    byHand: 'server',
  }),
  /** Replays from behind `after`, then goes live until the signal fires. */
  watch: verb<
    (thread_id: string, o: { after?: string; signal: AbortSignal }) => AsyncIterable<shapes.ThreadEvent>
  >('threads.watch')({
    shared,
    summary: 'What happens in a thread, as it happens',
    route: 'GET /threads/:thread_id/events',
    byHand: 'variant',
    streams: true,
  }),
  /** An event of one's own kind, such as `prompt.answered`. */
  record: verb<(thread_id: string, type: string, payload?: JsonObject) => Promise<shapes.ThreadEvent>>(
    'threads.record',
  )({
    summary: 'Append an event of your own kind',
    route: 'POST /threads/:thread_id/events',
    args: ['thread_id', 'type', 'payload'],
    status: 201,
  }),
  send: verb<(thread_id: string, envelope: shapes.EnvelopeInput) => Promise<shapes.Envelope>>('threads.send')(
    {
      summary: 'Send an envelope to a capability',
      route: 'POST /threads/:thread_id/envelopes',
      status: 201,
      headers: idempotent,
    },
  ),
  envelopes: verb<
    (thread_id: string, o?: { to?: string; after?: string }) => Promise<{ envelopes: shapes.Envelope[] }>
  >('threads.envelopes')({
    summary: 'The envelopes that are still worth reading',
    route: 'GET /threads/:thread_id/envelopes',
  }),
  /** Holds a thread for work that must not be done twice at once, or renews the hold. Others are told who has it. */
  hold: verb<(thread_id: string, o: shapes.HoldInput) => Promise<shapes.HoldAnswer>>('threads.hold')({
    summary: 'Hold a thread for work that must not be done twice at once, or renew the hold',
    route: 'POST /threads/:thread_id/hold',
    repeatable: true,
  }),
  release: verb<(thread_id: string, o: { token: string }) => Promise<void>>('threads.release')({
    summary: 'Let go of a thread that is held',
    route: 'DELETE /threads/:thread_id/hold',
    status: 204,
  }),
  /** Newest first. `pipeline` narrows it to one. */
  runs: verb<(o?: shapes.Page & { pipeline?: string }) => Promise<shapes.RunPage>>('threads.runs')({
    summary: 'The runs of pipelines, newest first',
    route: 'GET /runs',
    args: [],
  }),
  run: verb<OfThread<shapes.PipelineRun>>('threads.run')({
    shared,
    summary: 'A run of a pipeline: its steps, what they need, and what became of each',
    route: 'GET /threads/:thread_id/run',
  }),
  stats: verb<OfThread<shapes.Stats>>('threads.stats')({
    shared,
    summary: 'What a thread has saved in tokens, counted',
    route: 'GET /threads/:thread_id/stats',
  }),
  /** For who shows a model something else than an answer as it came: the read itself is not `counted`, and this is. */
  shown: verb<(thread_id: string, o: { what: shapes.ReadKind; tokens: number }) => Promise<void>>(
    'threads.shown',
  )({
    summary: 'Tell the ledger what a model was shown of a thread, in tokens',
    route: 'POST /threads/:thread_id/shown',
    status: 204,
  }),
  /** Over all threads of the caller. */
  totals: verb<() => Promise<shapes.SumStats>>('threads.totals')({
    summary: 'The same over all threads',
    route: 'GET /stats',
    args: [],
  }),
  /** The whole thread as a ZIP bundle. `damaged`: the first hundred refs of artifacts whose content is not in it. */
  export: verb<
    OfThread<{ body: ReadableStream<Uint8Array>; name: string; damaged: readonly string[] }>,
    'output'
  >('threads.export')({
    shared,
    summary:
      'The whole thread as a ZIP bundle; the header Relay-Damaged names artifacts whose content is not in it',
    route: 'GET /threads/:thread_id/export',
    byHand: 'both',
  }),
  import: verb<(bundle: BlobBody) => Promise<shapes.ImportAnswer>, 'input'>('threads.import')({
    summary: 'Take in a ZIP bundle, which is the body',
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
  /** Newest first. */
  artifacts: verb<
    (thread_id: string, o?: Counted & shapes.Page) => Promise<{ artifacts: shapes.Artifact[]; next?: string }>
  >('artifacts.list')({
    shared,
    summary: 'The artifacts of a thread, newest first',
    route: 'GET /threads/:thread_id/artifacts',
  }),
  /** Everything but the content. */
  artifact: verb<
    (thread_id: string, ref: string, o?: Counted) => Promise<shapes.Artifact>,
    'input' | 'output'
  >('artifacts.get')({
    shared,
    args: ['thread_id', 'ref'],
    summary: 'An artifact without its content: preview, hash, provenance; with raw=1 the bytes',
    route: 'GET /threads/:thread_id/artifacts/:ref',
    byHand: 'server',
  }),
  content: verb<
    (thread_id: string, ref: string, o?: Counted & { range?: ByteRange }) => Promise<ArtifactContent>,
    'input' | 'output'
  >('artifacts.content')({
    shared,
    args: ['thread_id', 'ref'],
    summary: 'The content of an artifact, whole or a byte range',
    route: 'GET /threads/:thread_id/artifacts/:ref/content',
    byHand: 'both',
  }),
  /** A part of the content, cut at `max_tokens`. It is a pull of what is answered, and of no more. */
  part: verb<(thread_id: string, ref: string, o: Counted & shapes.PartInput) => Promise<shapes.ArtifactPart>>(
    'artifacts.part',
  )({
    shared,
    args: ['thread_id', 'ref'],
    summary: 'A part of the content of an artifact: lines, matches, a place in JSON, or an outline',
    route: 'GET /threads/:thread_id/artifacts/:ref/part',
  }),
  /** The content is gone for good, with its preview; hash, name and an event stay. */
  deleteArtifact: verb<(thread_id: string, ref: string) => Promise<shapes.Artifact>>('artifacts.delete')({
    args: ['thread_id', 'ref'],
    summary: 'Delete the content of an artifact for good; its hash and an event stay',
    route: 'DELETE /threads/:thread_id/artifacts/:ref',
    repeatable: true,
  }),
  search: verb<
    (thread_id: string, q: string, o?: Counted & { limit?: number }) => Promise<shapes.SearchAnswer>
  >('artifacts.search')({
    shared,
    summary: 'Find passages of artifacts by their words, or by a question in other words, best first',
    route: 'GET /threads/:thread_id/search',
    args: ['thread_id', 'q'],
  }),
  report: verb<(thread_id: string, o?: { format?: shapes.ReportFormat }) => Promise<shapes.ReportAnswer>>(
    'reports.make',
  )({
    summary: 'Tell a thread in one document, which becomes an artifact of it',
    route: 'POST /reports/:thread_id',
  }),
  /** Repeated, one that is not `dry` may be counted twice. */
  render: verb<(thread_id: string, o?: shapes.RenderOptions) => Promise<shapes.Rendered>>('threads.render')({
    shared,
    summary: 'A thread as the messages of a prompt: its state, and previews in frames',
    route: 'POST /render/:thread_id',
    alsoBy: 'GET',
    query: ['format'],
    repeatable: true,
  }),
};

/** Threads as one caller sees them. A version is `v7` or 7. */
export interface ThreadsApi extends Api<typeof threads> {}

export const capabilities = {
  list: verb<() => Promise<{ capabilities: shapes.CapabilityInfo[] }>>('capabilities.list')({
    summary: 'What a thread can have done',
    route: 'GET /cap/list',
    args: [],
  }),
  invoke: verb<(input: shapes.InvokeInput) => Promise<shapes.InvokeAnswer>>('capabilities.invoke')({
    summary: 'Have a capability do its work; the result is an artifact',
    route: 'POST /cap/invoke',
    args: [],
    headers: { idempotency_key: 'Idempotency-Key' },
  }),
};

/** Capabilities as one caller sees them. */
export interface CapabilitiesApi extends Api<typeof capabilities> {}
