import { streamFrom } from '../../base/byte-streams.ts';
import { systemEnv } from '../../base/env.ts';
import { ignore } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { OUTPUT_TTL_MS, PAYLOAD_BYTES } from '../../base/limits.ts';
import { everyItem } from '../../base/pages.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import { OUTPUT, OUTPUT_PART } from '../../contract/outputs.ts';
import { withKey } from '../../contract/pointer-url.ts';
import type { ListedPointer, OutputReport, Pushed } from '../../contract/pointers.ts';
import { FERNET_CONTENT_TYPE, fernetEncrypt, generateFernetKey } from '../../formats/fernet.ts';
import type { OpenClient, OutputFacts, StoredOutput } from '../../interfaces/cli/host.ts';
import { ExcerptBuilder } from '../../text/excerpt/excerpt.ts';
import type { Config } from '../config.ts';
import { ownTextWork } from '../store/own-text-work.ts';
import { Spool } from './spool.ts';

const TTL_S = OUTPUT_TTL_MS / 1000;
/** Extra lifetime of parts in seconds: a part must outlive the pointer that lists it. */
const PART_EXTRA_S = 3600;
/**
 * Number of bytes, before the maximum size of a part, that are searched for a line end. If there is a line end, the
 * part ends there.
 */
const LOOK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/** Stores the outputs of commands in a relay, as pointers with `metadata.kind` "output". */
export class OutputStore implements AsyncDisposable {
  readonly #open: OpenClient;
  readonly #config: Pick<Config, 'home' | 'output_storage'>;

  constructor(open: OpenClient, config: Pick<Config, 'home' | 'output_storage'>) {
    this.#open = open;
    this.#config = config;
  }

  /**
   * Stores an output. An output above the maximum payload size is stored in parts. The first part lists the
   * others and is pushed last, which commits the output. Outputs for another machine are encrypted with a key
   * that stays in the local keyring.
   */
  async save(spool: Spool, facts: OutputFacts): Promise<Pushed> {
    const client = await this.#open.client();
    const key = this.#open.remote === null ? null : generateFernetKey(systemEnv);
    const ends = partEnds(spool);
    const push = async (i: number, metadata: JsonObject, ttl: number) => {
      const [from, to] = [ends[i - 1] ?? 0, ends[i]!];
      const options = { metadata, ttl, idempotencyKey: `${spool.header.id}-${i}` };
      if (key === null)
        return client.pushDetailed(streamFrom(asyncChunks(spool, from, to)), { ...options, size: to - from });
      const token = await fernetEncrypt(key, spool.read(from, to), { now: systemEnv.now() });
      return client.pushDetailed(encodeUtf8(token), { ...options, contentType: FERNET_CONTENT_TYPE });
    };
    const parts: string[] = [];
    for (let i = 1; i < ends.length; i++)
      parts.push((await push(i, { kind: OUTPUT_PART }, TTL_S + PART_EXTRA_S)).id);
    const metadata = { kind: OUTPUT, ...facts, ...(parts.length > 0 ? { parts } : {}) };
    const pushed = await push(0, metadata, TTL_S);
    if (key === null) return pushed;
    const keyed = { ...pushed, url: withKey(pushed.url, key) };
    // The keyring stores a key under a handle. Without a handle, the whole URL with its key is used in place of the
    // handle.
    return (await this.#open.keepKey(keyed)) === null ? { ...keyed, handle: keyed.url } : keyed;
  }

  /** Stores the outputs of commands whose `relay tee` was killed. */
  async recover(): Promise<void> {
    for (const spool of Spool.abandoned(this.#config.home)) {
      const { size, header } = spool;
      const builder = new ExcerptBuilder({ counter: ownTextWork });
      for (const chunk of spool.chunks()) builder.write(chunk);
      const { lines, tokens } = await builder.finish();
      const facts = { command: header.command, exit: null, lines, tokens, shown: 0, bytes: size };
      // `idempotency_conflict`: the killed process had already stored the output.
      if (size > 0) await this.save(spool, facts).catch(ignore('idempotency_conflict'));
      spool.delete();
    }
  }

  /** Lists the outputs, newest first. */
  async list(): Promise<StoredOutput[]> {
    const outputs: StoredOutput[] = [];
    const pages = everyItem('pointers', (o) => this.#open.relay.pointers.list(o), PAGE_ITEMS);
    for await (const pointer of pages)
      if (pointer.metadata.kind === OUTPUT) outputs.push(storedOutput(pointer));
    return outputs;
  }

  report(): Promise<OutputReport> {
    return this.#open.relay.pointers.outputs();
  }

  /**
   * Deletes the oldest outputs until the rest has at most `bytes` bytes. Returns the number of deleted
   * outputs.
   */
  async keepWithin(bytes = this.#config.output_storage): Promise<number> {
    let [deleted, keptBytes] = [0, 0];
    for (const output of await this.list()) {
      keptBytes += output.bytes;
      if (keptBytes <= bytes) continue;
      // `not_found`: another process has just deleted the output.
      await this.#open.relay.pointers.delete(output.id).catch(ignore('not_found'));
      deleted++;
    }
    return deleted;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open[Symbol.asyncDispose]();
  }
}

const PAGE_ITEMS = 200;

function storedOutput({ id, handle, metadata, created_at, expires_at, size }: ListedPointer): StoredOutput {
  const number = (value: unknown) => (typeof value === 'number' ? value : 0);
  return {
    handle: handle ?? id,
    id,
    command: String(metadata.command),
    exit: typeof metadata.exit === 'number' ? metadata.exit : null,
    lines: number(metadata.lines),
    tokens: number(metadata.tokens),
    shown: number(metadata.shown),
    bytes: typeof metadata.bytes === 'number' ? metadata.bytes : size,
    created_at,
    expires_at,
  };
}

/** Returns the end offsets of an output's parts. A part ends at a line end if one is near. */
function partEnds(spool: Spool): number[] {
  const ends: number[] = [];
  for (let from = 0; spool.size - from > PAYLOAD_BYTES; from = ends.at(-1)!) {
    const most = from + PAYLOAD_BYTES;
    const look = spool.read(most - LOOK_BYTES, most);
    const line = look.lastIndexOf(LINE_FEED);
    ends.push(line === -1 ? most : most - look.length + line + 1);
  }
  return [...ends, spool.size];
}

async function* asyncChunks(spool: Spool, from: number, to: number): AsyncGenerator<Uint8Array> {
  yield* spool.chunks(from, to);
}
