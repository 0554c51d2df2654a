import { AwsClient } from 'aws4fetch';
import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { ByteRange } from '../../kernel/blobs.ts';
import type { BucketAddress } from './address.ts';

/** How often a request is made before the bucket counts as out, and how long the pauses between grow from. */
const TRIES = 4;
const PAUSE_MS = 200;
/** So long nothing comes before a request is given up, and made again. */
const SILENCE_MS = 30_000;

export interface BucketOptions {
  readonly tries?: number;
  readonly silenceMs?: number;
  readonly pauseMs?: number;
}

export interface ListedObject {
  readonly name: string;
  readonly size: number;
  /** How old it is by the clock of the bucket. */
  readonly ageMs: number;
}

interface Ask {
  readonly query?: { readonly [name: string]: string };
  readonly headers?: { readonly [name: string]: string };
  readonly body?: Uint8Array<ArrayBuffer> | string;
}

/** An answer that has come to its end. */
interface WholeAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A bucket of S3, of whichever maker, by `fetch` alone. What it cannot do for now is `bucket_unavailable`. */
export class Bucket {
  readonly name: string;
  readonly #address: BucketAddress;
  readonly #client: AwsClient | null;
  readonly #tries: number;
  readonly #silenceMs: number;
  readonly #pauseMs: number;
  /** Why the last request came to nothing; null where it did not. */
  outage: string | null = null;

  constructor(address: BucketAddress, o: BucketOptions = {}) {
    const { bucket, region, credentials } = address;
    this.name = `s3://${bucket}`;
    this.#address = address;
    this.#client = credentials && new AwsClient({ ...credentials, region, service: 's3', retries: 0 });
    this.#tries = o.tries ?? TRIES;
    this.#silenceMs = o.silenceMs ?? SILENCE_MS;
    this.#pauseMs = o.pauseMs ?? PAUSE_MS;
  }

  async put(name: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#well(await this.#askWhole('PUT', name, { body }));
  }

  /** Gives the id under which parts are sent. */
  async begin(name: string): Promise<string> {
    const { text } = this.#well(await this.#askWhole('POST', name, { query: { uploads: '' } }));
    const id = tag(text, 'UploadId');
    if (id === null) throw this.#out('it began no upload');
    return id;
  }

  /** Gives what `complete` wants to know of the part; the first one has number 1. */
  async putPart(name: string, id: string, number: number, body: Uint8Array<ArrayBuffer>): Promise<string> {
    const query = { partNumber: String(number), uploadId: id };
    const { headers } = this.#well(await this.#askWhole('PUT', name, { query, body }));
    const etag = headers.get('etag');
    if (etag === null) throw this.#out('it gave no ETag for a part');
    return etag;
  }

  async complete(name: string, id: string, etags: readonly string[], size: number): Promise<void> {
    const parts = etags.map(
      (etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
    );
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    const answer = await this.#askWhole('POST', name, { query: { uploadId: id }, body });
    // Where an earlier try came through and only its answer was lost, there is no such upload any more.
    if (answer.status === 404 && (await this.#sizeOf(name)) === size) return;
    const { text } = this.#well(answer);
    // An answer that has begun is 200, whatever comes of it.
    if (text.includes('<Error>')) throw this.#out(`it answered ${tag(text, 'Code')}`);
  }

  async abort(name: string, id: string): Promise<void> {
    this.#well(await this.#askWhole('DELETE', name, { query: { uploadId: id } }), 404);
  }

  async delete(name: string): Promise<void> {
    this.#well(await this.#askWhole('DELETE', name), 404);
  }

  /**
   * The bytes of a range as they come; after a cut it goes on where it was. Ends early where the object does, and fails with
   * what `missing` gives where there is none.
   */
  read(name: string, { start, end }: ByteRange, missing: () => Error): ReadableStream<Uint8Array> {
    let at = start;
    let fruitless = 0;
    let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
    const open = async () => {
      const wanted = { headers: { range: `bytes=${at}-${end - 1}` } };
      const answer = await this.#ask('GET', name, wanted, async (answer) =>
        answer.status === 206 ? answer.body!.getReader() : wholeOf(answer),
      );
      if (!('status' in answer)) return answer;
      if (answer.status === 416) return null;
      if (answer.status !== 404) throw this.#refused(answer);
      if (tag(answer.text, 'Code') === 'NoSuchBucket') throw this.#out('there is no such bucket');
      throw missing();
    };
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          for (;;) {
            if (at >= end) return controller.close();
            reader ??= await open();
            if (reader === null) return controller.close();
            const piece = await this.#within(reader.read()).catch((error) => ({ cut: reasonOf(error) }));
            if (!('cut' in piece) && !piece.done) {
              fruitless = 0;
              at += piece.value.length;
              return controller.enqueue(piece.value);
            }
            // It is cut off already; another request follows.
            reader.cancel().catch(() => {});
            reader = null;
            if (++fruitless >= this.#tries)
              throw this.#out('cut' in piece ? piece.cut : 'it sends too little');
            await this.#rest(fruitless);
          }
        },
        cancel: () => reader?.cancel(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Objects whose names begin so. */
  async *list(prefix: string): AsyncGenerator<ListedObject> {
    for (let token: string | null = null; ; ) {
      const more: { [name: string]: string } = token === null ? {} : { 'continuation-token': token };
      const query = { 'list-type': '2', prefix: this.#address.prefix + prefix, ...more };
      const { text, headers } = this.#well(await this.#askWhole('GET', '', { query }));
      const now = dateOf(headers);
      for (const each of tags(text, 'Contents')) {
        const size = Number(tag(each, 'Size'));
        yield { name: this.#named(each), size, ageMs: now - Date.parse(tag(each, 'LastModified') ?? '') };
      }
      token = tag(text, 'NextContinuationToken');
      if (token === null) return;
    }
  }

  /** Uploads that were neither completed nor aborted, of objects whose names begin so; the first thousand. */
  async uploads(prefix: string): Promise<{ name: string; id: string; ageMs: number }[]> {
    const query = { uploads: '', prefix: this.#address.prefix + prefix };
    const { text, headers } = this.#well(await this.#askWhole('GET', '', { query }));
    const now = dateOf(headers);
    return tags(text, 'Upload').map((each) => ({
      name: this.#named(each),
      id: tag(each, 'UploadId') ?? '',
      ageMs: now - Date.parse(tag(each, 'Initiated') ?? ''),
    }));
  }

  #named(listed: string): string {
    return (tag(listed, 'Key') ?? '').slice(this.#address.prefix.length);
  }

  async #sizeOf(name: string): Promise<number | null> {
    const answer = await this.#askWhole('HEAD', name);
    return answer.ok ? Number(answer.headers.get('content-length')) : null;
  }

  #askWhole(method: string, name: string, ask?: Ask): Promise<WholeAnswer> {
    return this.#ask(method, name, ask, wholeOf);
  }

  /** What `take` makes of the answer, unless the bucket is out; asked again where it is, or is cut off meanwhile. */
  async #ask<T>(
    method: string,
    name: string,
    { query = {}, headers = {}, body }: Ask = {},
    take: (answer: Response) => Promise<T>,
  ): Promise<T> {
    if (this.#client === null)
      throw this.#out('there are no credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
    const search = new URLSearchParams(query).toString();
    const path = name === '' ? '' : `/${this.#address.prefix}${name}`;
    const url = `${this.#address.url}${path}${search && `?${search}`}`;
    for (let tried = 1; ; tried++) {
      let reason: string;
      const aborter = new AbortController();
      try {
        const signed = await this.#client.sign(url, { method, headers, body, signal: aborter.signal });
        const answer = await this.#within(fetch(signed));
        if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) {
          const taken = await this.#within(take(answer));
          this.outage = null;
          return taken;
        }
        reason = `it answered ${answer.status}`;
        await answer.body?.cancel();
      } catch (error) {
        aborter.abort();
        reason = reasonOf(error);
      }
      if (tried >= this.#tries) throw this.#out(reason);
      await this.#rest(tried);
    }
  }

  /** The answer, where it is well or has the status that is fine too. */
  #well(answer: WholeAnswer, fine?: number): WholeAnswer {
    if (!answer.ok && answer.status !== fine) throw this.#refused(answer);
    return answer;
  }

  #refused({ status, text }: WholeAnswer): RelayError {
    const code = tag(text, 'Code');
    return this.#out(`it answered ${status}${code ? ` ${code}` : ''}`);
  }

  #out(what: string): RelayError {
    this.outage = what;
    return new RelayError('bucket_unavailable', { bucket: this.name, what });
  }

  #rest(tried: number): Promise<void> {
    return pause(this.#pauseMs * 2 ** (tried - 1) * (0.5 + Math.random()));
  }

  async #within<T>(work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silent = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('it does not answer')), this.#silenceMs);
    });
    try {
      return await Promise.race([work, silent]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
}

async function wholeOf(answer: Response): Promise<WholeAnswer> {
  const { ok, status, headers } = answer;
  return { ok, status, headers, text: await answer.text() };
}

function dateOf(headers: Headers): number {
  return Date.parse(headers.get('date') ?? '');
}

/** What stands in the first element of that name. Names of objects and ids are plain, and nothing else is looked at. */
function tag(xml: string, name: string): string | null {
  return tags(xml, name)[0] ?? null;
}

function tags(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map((match) => match[1]!);
}
