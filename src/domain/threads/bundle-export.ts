import { sha256Hex } from '../../base/hash.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { crc32 } from '../../formats/zip/crc32.ts';
import { writeZip, type ZipEntry } from '../../formats/zip/zip-writer.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { KINDS } from './artifact-kind.ts';
import { artifactMeta, openArtifact } from './artifacts.ts';
import {
  ARTIFACTS,
  BUNDLE_SCHEMA,
  contentFile,
  EVENTS_FILE_BYTES,
  eventsFile,
  LEDGER,
  MANIFEST,
  type Manifest,
  type ManifestFile,
  STATE,
  streamOf,
  wholeBody,
} from './bundle.ts';
import type { Head } from './fold.ts';
import { isoTime } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

/** Larger contents are not packed: they are read twice, and never held. */
const PACKED_BYTES = 8 * 1024 * 1024;

/** Writes a thread into a bundle, as it is at the moment of asking. */
export const exportThread: ThreadVerb<'export'> = async (log, caller, id) => {
  const meta = await log.meta(caller, id);
  await log.ledger.flush();
  const head = await log.head(caller, id);
  const about = {
    schema: BUNDLE_SCHEMA,
    thread_id: head.id,
    name: meta.name,
    created_at: isoTime(meta.created),
    created_by: meta.by,
    state_version: head.version,
    events: head.count,
    artifacts: head.totals.artifacts,
  } as const;
  return { body: streamOf(writeZip(entries(log, head, about))), name: `thread-${head.id}.zip` };
};

/** The manifest comes last, when everything else has been seen. */
async function* entries(
  log: ThreadLog,
  head: Head,
  about: Omit<Manifest, 'files'>,
): AsyncGenerator<ZipEntry> {
  const files: ManifestFile[] = [];
  const whole = async (path: string, text: string): Promise<ZipEntry> => {
    const bytes = new TextEncoder().encode(text);
    files.push({ path, size: bytes.length, sha256: await sha256Hex(bytes) });
    return { name: path, bytes };
  };
  yield await whole(STATE, `${JSON.stringify(head.state, null, 2)}\n`);
  yield await whole(LEDGER, `${JSON.stringify(await log.ledger.counters(head.id))}\n`);
  let part = 0;
  for await (const text of eventTexts(log, head)) yield await whole(eventsFile(++part), text);
  const artifacts: Artifact[] = [];
  for (const ref of head.refs.slice(0, head.totals.artifacts))
    artifacts.push(await artifactMeta(log, head.id, ref));
  yield await whole(ARTIFACTS, artifacts.map((artifact) => `${JSON.stringify(artifact)}\n`).join(''));
  for (const artifact of artifacts) {
    const path = contentFile(artifact.ref, KINDS[artifact.type].ext);
    files.push({ path, size: artifact.size, sha256: artifact.hash });
    yield await content(log, path, artifact);
  }
  const manifest = `${JSON.stringify({ ...about, files }, null, 2)}\n`;
  yield { name: MANIFEST, bytes: new TextEncoder().encode(manifest) };
}

async function* eventTexts(log: ThreadLog, head: Head): AsyncGenerator<string> {
  let text = '';
  let count = 0;
  for await (const { event } of log.heads.events(head.id, 0)) {
    if (count++ === head.count) break;
    text += `${JSON.stringify(event)}\n`;
    if (text.length > EVENTS_FILE_BYTES) {
      yield text;
      text = '';
    }
  }
  if (text !== '') yield text;
}

async function content(log: ThreadLog, name: string, artifact: Artifact): Promise<ZipEntry> {
  const open = () => openArtifact(log, artifact);
  if (artifact.size <= PACKED_BYTES) return { name, bytes: await wholeBody(await open()) };
  let crc = 0;
  for await (const chunk of chunks(await open())) crc = crc32(chunk, crc);
  return { name, size: artifact.size, crc, open: async () => chunks(await open()) };
}

async function* chunks(body: BlobBody): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) yield body;
  else for await (const chunk of body) yield chunk;
}
