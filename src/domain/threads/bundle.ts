import { RelayError } from '../../base/errors.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { BlobBody } from '../../kernel/blobs.ts';

/** What a bundle holds, and how it is laid out. */

export const BUNDLE_SCHEMA = 'com.relay.bundle.v1';

export const MANIFEST = 'manifest.json';
export const STATE = 'state.json';
export const LEDGER = 'ledger.json';
export const ARTIFACTS = 'artifacts.ndjson';
export const eventsFile = (part: number) => `events/${String(part).padStart(6, '0')}.ndjson`;
export const contentFile = (ref: string, ext: string) => `artifacts/${ref}.${ext}`;

/** About how much one file of events holds. */
export const EVENTS_FILE_BYTES = 4 * 1024 * 1024;
/** No file but a content is larger than this. */
export const FILE_BYTES = 64 * 1024 * 1024;

export interface Manifest {
  readonly schema: typeof BUNDLE_SCHEMA;
  readonly thread_id: string;
  readonly name: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly state_version: number;
  readonly events: number;
  readonly artifacts: number;
  /** Every other file, in the order of the archive. */
  readonly files: readonly ManifestFile[];
}

export interface ManifestFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

export interface LedgerFile {
  readonly headers: number;
  readonly header_reads: number;
  readonly previews: number;
  readonly preview_reads: number;
  readonly hops: number;
}

/** The bytes of a ZIP, or of a file in one, as a stream that is read on demand. */
export function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await chunks.return(undefined)),
  });
}

export async function wholeBody(body: BlobBody): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}

export function badBundle(what: string): RelayError {
  return new RelayError('bad_bundle', { what });
}

export function checkManifest(value: unknown): Manifest {
  const m = value as Manifest;
  const whole = (n: unknown) => Number.isSafeInteger(n) && (n as number) >= 0;
  if (typeof m !== 'object' || m === null || m.schema !== BUNDLE_SCHEMA)
    throw badBundle('its manifest is of another kind');
  const fine =
    typeof m.thread_id === 'string' &&
    /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(m.thread_id) &&
    typeof m.name === 'string' &&
    typeof m.created_by === 'string' &&
    typeof m.created_at === 'string' &&
    !Number.isNaN(Date.parse(m.created_at)) &&
    [m.state_version, m.events, m.artifacts].every(whole) &&
    Array.isArray(m.files) &&
    m.files.every(
      (f) =>
        typeof f?.path === 'string' &&
        whole(f.size) &&
        typeof f.sha256 === 'string' &&
        /^[0-9a-f]{64}$/.test(f.sha256),
    );
  if (!fine) throw badBundle('its manifest is broken');
  return m;
}

/** The fields of an artifact that are taken over; the preview is made anew, since it goes to models. */
export function checkArtifact(value: unknown, threadId: string): Artifact {
  const a = value as Artifact;
  const p = a?.provenance;
  const t = a?.tokens;
  const fine =
    /^[0-9a-f]{26}$/.test(a?.ref) &&
    a.thread_id === threadId &&
    [a.type, a.mime, a.name, a.hash, a.created_at, p?.created_by, p?.created_at, t?.tokenizer].every(
      (text) => typeof text === 'string' && text.length <= 1024,
    ) &&
    [a.size, t.content, t.preview].every((n) => Number.isSafeInteger(n) && n >= 0) &&
    Array.isArray(p.source_refs) &&
    p.source_refs.length <= 100 &&
    p.source_refs.every((ref) => typeof ref === 'string' && ref.length <= 128) &&
    (p.capability === null || typeof p.capability === 'string');
  if (!fine) throw badBundle('an artifact is described wrongly');
  return a;
}
