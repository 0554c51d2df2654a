import type { JsonObject } from '../../base/json.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { CompactAnswer } from './compactor.ts';
import type { Envelope, EnvelopeInput } from './envelopes.ts';
import type { HoldAnswer, HoldInput } from './holds.ts';
import type { Stats, SumStats } from './ledger.ts';
import type { Rendered, RenderFormat } from './render.ts';
import type { ReportAnswer, ReportFormat } from './reports.ts';
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
} from './types.ts';

export interface Page {
  readonly after?: string;
  readonly limit?: number;
}

/** Threads as one caller sees them. A version is `v7` or 7. */
export interface ThreadsApi {
  create(o?: { name?: string }): Promise<ThreadCreated>;
  /** Newest first. `prefix` narrows it to ids that begin so. */
  list(o?: Page & { prefix?: string }): Promise<{ threads: ThreadItem[]; next?: string }>;
  get(id: string): Promise<ThreadInfo>;
  delete(id: string): Promise<void>;

  state(id: string, o?: { at?: string | number }): Promise<State>;
  header(id: string): Promise<Header>;
  patch(id: string, input: PatchInput): Promise<PatchAnswer>;
  diff(id: string, o: { from: string | number; to?: string | number }): Promise<DiffAnswer>;
  compact(id: string): Promise<CompactAnswer>;
  replay(id: string): Promise<ReplayAnswer>;

  putArtifact(id: string, input: ArtifactInput): Promise<ArtifactCreated>;
  /** Everything but the content. A look that no model gets to see need not be counted as a read of the preview. */
  artifact(id: string, ref: string, o?: { counted?: boolean }): Promise<Artifact>;
  content(id: string, ref: string, o?: { range?: { start: number; end: number } }): Promise<ArtifactContent>;
  /** Newest first. */
  artifacts(id: string, o?: Page): Promise<{ artifacts: Artifact[]; next?: string }>;
  search(id: string, query: string, o?: { limit?: number }): Promise<{ hits: SearchHit[] }>;

  /** Oldest first, behind the event `after`. */
  events(id: string, o?: Page): Promise<{ events: ThreadEvent[]; next?: string }>;
  /** Replays from behind `after`, then goes live until the signal fires. */
  watch(id: string, o: { after?: string; signal: AbortSignal }): AsyncIterable<ThreadEvent>;
  /** An event of one's own kind, such as `prompt.answered`. */
  record(id: string, type: string, payload: JsonObject): Promise<ThreadEvent>;
  send(id: string, envelope: EnvelopeInput): Promise<Envelope>;
  envelopes(id: string, o?: { to?: string; after?: string }): Promise<{ envelopes: Envelope[] }>;

  /** Holds a thread for work that must not be done twice at once, or renews the hold. Others are told who has it. */
  hold(id: string, o: HoldInput): Promise<HoldAnswer>;
  release(id: string, o: { token: string }): Promise<void>;

  stats(id: string): Promise<Stats>;
  /** Over all threads of the caller. */
  totals(): Promise<SumStats>;
  report(id: string, o?: { format?: ReportFormat }): Promise<ReportAnswer>;
  render(id: string, o?: { format?: RenderFormat }): Promise<Rendered>;

  /** The whole thread as a ZIP bundle. */
  export(id: string): Promise<{ body: ReadableStream<Uint8Array>; name: string }>;
  import(bundle: BlobBody): Promise<ImportAnswer>;
}

export interface ReplayAnswer {
  readonly version: number;
  readonly events: number;
  /** Of the state as JSON. */
  readonly sha256: string;
  readonly matches: boolean;
}

export interface ImportAnswer {
  readonly thread_id: string;
  readonly name: string;
  readonly state_ref: string;
  readonly artifacts: number;
  readonly events: number;
}
