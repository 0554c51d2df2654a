import { sha256Hex } from '../../base/hash.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { Crc32 } from '../../formats/zip/crc32.ts';
import { writeZip, type ZipEntry } from '../../formats/zip/zip-writer.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { Deps } from '../deps.ts';
import { KINDS } from './artifact-kind.ts';
import type { Artifacts } from './artifacts.ts';
import {
  ARTIFACTS,
  BUNDLE_SCHEMA,
  contentFile,
  EVENTS_FILE_BYTES,
  eventsFile,
  LEDGER,
  type LedgerFile,
  MANIFEST,
  type Manifest,
  type ManifestFile,
  STATE,
  streamOf,
  wholeBody,
} from './bundle.ts';
import type { Head } from './fold.ts';
import { hopsKey, ledgerKey } from './keys.ts';
import { isoTime } from './state.ts';
import type { ThreadLog } from './thread-log.ts';
import type { TokenLedger } from './token-ledger.ts';

/** Larger contents are not packed: they are read twice, and never held. */
const PACKED_BYTES = 8 * 1024 * 1024;

/** Writes a thread into a bundle, as it is at the moment of asking. */
export class BundleExport {
  readonly #deps: Deps;
  readonly #log: ThreadLog;
  readonly #artifacts: Artifacts;
  readonly #counters: TokenLedger;

  constructor(deps: Deps, log: ThreadLog, artifacts: Artifacts, counters: TokenLedger) {
    this.#deps = deps;
    this.#log = log;
    this.#artifacts = artifacts;
    this.#counters = counters;
  }

  async export(caller: Caller, id: string): Promise<{ body: ReadableStream<Uint8Array>; name: string }> {
    const meta = await this.#log.meta(caller, id);
    await this.#counters.flush();
    const head = await this.#log.head(caller, id);
    const base = {
      schema: BUNDLE_SCHEMA,
      thread_id: head.id,
      name: meta.name,
      created_at: isoTime(meta.created),
      created_by: meta.by,
      state_version: head.version,
      events: head.count,
      artifacts: head.totals.artifacts,
    } as const;
    const body = streamOf(writeZip(this.#entries(head, base)));
    return { body, name: `thread-${head.id}.zip` };
  }

  /** The manifest comes last, when everything else has been seen. */
  async *#entries(head: Head, base: Omit<Manifest, 'files'>): AsyncGenerator<ZipEntry> {
    const files: ManifestFile[] = [];
    const whole = async (path: string, text: string): Promise<ZipEntry> => {
      const bytes = new TextEncoder().encode(text);
      files.push({ path, size: bytes.length, sha256: await sha256Hex(bytes) });
      return { name: path, bytes };
    };
    yield await whole(STATE, `${JSON.stringify(head.state, null, 2)}\n`);
    yield await whole(LEDGER, `${JSON.stringify(await this.#ledger(head.id))}\n`);
    let part = 0;
    for await (const text of this.#eventFiles(head)) yield await whole(eventsFile(++part), text);
    const artifacts: Artifact[] = [];
    for (const ref of head.refs.slice(0, head.totals.artifacts))
      artifacts.push(await this.#artifacts.meta(head.id, ref));
    yield await whole(ARTIFACTS, artifacts.map((artifact) => `${JSON.stringify(artifact)}\n`).join(''));
    for (const artifact of artifacts) {
      const path = contentFile(artifact.ref, KINDS[artifact.type].ext);
      files.push({ path, size: artifact.size, sha256: artifact.hash });
      yield await this.#content(path, artifact);
    }
    yield {
      name: MANIFEST,
      bytes: new TextEncoder().encode(`${JSON.stringify({ ...base, files }, null, 2)}\n`),
    };
  }

  async *#eventFiles(head: Head): AsyncGenerator<string> {
    let text = '';
    let count = 0;
    for await (const { event } of this.#log.heads.events(head.id, 0)) {
      if (count++ === head.count) break;
      text += `${JSON.stringify(event)}\n`;
      if (text.length > EVENTS_FILE_BYTES) {
        yield text;
        text = '';
      }
    }
    if (text !== '') yield text;
  }

  async #content(name: string, artifact: Artifact): Promise<ZipEntry> {
    if (artifact.size <= PACKED_BYTES)
      return { name, bytes: await wholeBody(await this.#artifacts.open(artifact)) };
    const crc = new Crc32();
    for await (const chunk of chunks(await this.#artifacts.open(artifact))) crc.update(chunk);
    const open = async () => chunks(await this.#artifacts.open(artifact));
    return { name, size: artifact.size, crc: crc.value, open };
  }

  async #ledger(id: string): Promise<LedgerFile> {
    const read = async (key: string) => Number((await this.#deps.engine.records.get(key))?.value ?? 0);
    return {
      headers: await read(ledgerKey(id, 'headers')),
      header_reads: await read(ledgerKey(id, 'header_reads')),
      previews: await read(ledgerKey(id, 'previews')),
      preview_reads: await read(ledgerKey(id, 'preview_reads')),
      hops: await read(hopsKey(id)),
    };
  }
}

async function* chunks(body: BlobBody): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) yield body;
  else for await (const chunk of body) yield chunk;
}
