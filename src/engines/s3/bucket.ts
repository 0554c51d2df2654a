import { AwsClient } from 'aws4fetch';
import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { ByteRange } from '../../kernel/blobs.ts';
import type { BucketAddress } from './address.ts';

/** Maximum number of attempts per request. After the last one, the bucket counts as unavailable. */
const ATTEMPTS = 4;
/** Pause in ms before the second attempt. It doubles before each further attempt. */
const PAUSE_MS = 200;
/** Time in ms without data after which a request is aborted and repeated. */
const SILENCE_TIMEOUT_MS = 30_000;

export interface BucketOptions {
  readonly tries?: number;
  readonly pauseMs?: number;
}

export interface ListedObject {
  readonly name: string;
  readonly size: number;
  /** Age of the object in ms, by the clock of the bucket. */
  readonly ageMs: number;
}

interface BucketRequest {
  readonly query?: { readonly [name: string]: string };
  readonly headers?: { readonly [name: string]: string };
  readonly body?: Uint8Array<ArrayBuffer> | string;
}

/** A response whose body was read completely. */
interface BucketResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Client of an S3 bucket of any provider, over `fetch`. A request that fails on every attempt throws
 * `bucket_unavailable`.
 */
export class Bucket {
  readonly name: string;
  /** Prefix of all object names, from the address. Empty, or ends with a slash. */
  readonly prefix: string;
  readonly #address: BucketAddress;
  readonly #client: AwsClient | null;
  readonly #tries: number;
  readonly #pauseMs: number;
  /** Reason why the last request failed, or null if it succeeded. */
  outage: string | null = null;

  constructor(address: BucketAddress, o: BucketOptions = {}) {
    const { bucket, region, credentials } = address;
    this.name = `s3://${bucket}`;
    this.prefix = address.prefix;
    this.#address = address;
    this.#client = credentials && new AwsClient({ ...credentials, region, service: 's3', retries: 0 });
    this.#tries = o.tries ?? ATTEMPTS;
    this.#pauseMs = o.pauseMs ?? PAUSE_MS;
  }

  async put(name: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#checkStatus(await this.#send('PUT', name, { body }));
  }

  /** Starts a multipart upload and returns its id. */
  async begin(name: string): Promise<string> {
    const { text } = this.#checkStatus(await this.#send('POST', name, { query: { uploads: '' } }));
    const id = xmlValue(text, 'UploadId');
    if (id === null) throw this.#unavailable('it returned no upload id');
    return id;
  }

  /** Uploads a part and returns its ETag, which `complete` needs. The first part has number 1. */
  async putPart(name: string, id: string, number: number, body: Uint8Array<ArrayBuffer>): Promise<string> {
    const query = { partNumber: String(number), uploadId: id };
    const { headers } = this.#checkStatus(await this.#send('PUT', name, { query, body }));
    const etag = headers.get('etag');
    if (etag === null) throw this.#unavailable('it returned no ETag for a part');
    return etag;
  }

  /** Completes a multipart upload. */
  async complete(name: string, id: string, etags: readonly string[], size: number): Promise<void> {
    const parts = etags.map(
      (etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
    );
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    const answer = await this.#send('POST', name, { query: { uploadId: id }, body });
    // An earlier attempt may have succeeded although its response was lost. Then the upload no longer exists, but the
    // object does.
    if (answer.status === 404 && (await this.#sizeOf(name)) === size) return;
    const { text } = this.#checkStatus(answer);
    // S3 may send status 200 first and then report an error in the body.
    if (text.includes('<Error>')) throw this.#unavailable(`it answered ${xmlValue(text, 'Code')}`);
  }

  async abort(name: string, id: string): Promise<void> {
    this.#checkStatus(await this.#send('DELETE', name, { query: { uploadId: id } }), 404);
  }

  async delete(name: string): Promise<void> {
    this.#checkStatus(await this.#send('DELETE', name), 404);
  }

  /**
   * Streams the bytes of a range. After a broken connection, resumes at the next byte. The stream ends early if the
   * object is shorter than the range, and fails with the error of `missing` if there is no object.
   */
  read(name: string, { start, end }: ByteRange, missing: () => Error): ReadableStream<Uint8Array> {
    let at = start;
    let failures = 0;
    let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
    const open = async () => {
      const wanted = { headers: { range: `bytes=${at}-${end - 1}` } };
      const answer = await this.#request('GET', name, wanted, async (answer) =>
        answer.status === 206 ? answer.body!.getReader() : readResponse(answer),
      );
      if (!('status' in answer)) return answer;
      if (answer.status === 416) return null;
      if (answer.status !== 404) throw this.#statusError(answer);
      if (xmlValue(answer.text, 'Code') === 'NoSuchBucket')
        throw this.#unavailable('the bucket does not exist');
      throw missing();
    };
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          for (;;) {
            if (at >= end) return controller.close();
            reader ??= await open();
            if (reader === null) return controller.close();
            const piece = await this.#withTimeout(reader.read()).catch((error) => ({
              cut: errorReason(error),
            }));
            if (!('cut' in piece) && !piece.done) {
              failures = 0;
              at += piece.value.length;
              return controller.enqueue(piece.value);
            }
            // The connection broke. The loop sends another request for the rest.
            reader.cancel().catch(() => {});
            reader = null;
            if (++failures >= this.#tries)
              throw this.#unavailable('cut' in piece ? piece.cut : 'it sends incomplete data');
            await this.#pauseAfter(failures);
          }
        },
        cancel: () => reader?.cancel(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Lists the objects whose names start with the prefix. */
  async *list(prefix: string): AsyncGenerator<ListedObject> {
    for (let token: string | null = null; ; ) {
      const more: { [name: string]: string } = token === null ? {} : { 'continuation-token': token };
      const query = { 'list-type': '2', prefix: this.#address.prefix + prefix, ...more };
      const { text, headers } = this.#checkStatus(await this.#send('GET', '', { query }));
      const now = responseTime(headers);
      for (const each of xmlValues(text, 'Contents')) {
        const size = Number(xmlValue(each, 'Size'));
        yield {
          name: this.#objectName(each),
          size,
          ageMs: now - Date.parse(xmlValue(each, 'LastModified') ?? ''),
        };
      }
      token = xmlValue(text, 'NextContinuationToken');
      if (token === null) return;
    }
  }

  /** Returns at most 1000 unfinished uploads of objects whose names start with the prefix. */
  async uploads(prefix: string): Promise<{ name: string; id: string; ageMs: number }[]> {
    const query = { uploads: '', prefix: this.#address.prefix + prefix };
    const { text, headers } = this.#checkStatus(await this.#send('GET', '', { query }));
    const now = responseTime(headers);
    return xmlValues(text, 'Upload').map((each) => ({
      name: this.#objectName(each),
      id: xmlValue(each, 'UploadId') ?? '',
      ageMs: now - Date.parse(xmlValue(each, 'Initiated') ?? ''),
    }));
  }

  #objectName(listed: string): string {
    return (xmlValue(listed, 'Key') ?? '').slice(this.#address.prefix.length);
  }

  async #sizeOf(name: string): Promise<number | null> {
    const answer = await this.#send('HEAD', name);
    return answer.ok ? Number(answer.headers.get('content-length')) : null;
  }

  #send(method: string, name: string, request?: BucketRequest): Promise<BucketResponse> {
    return this.#request(method, name, request, readResponse);
  }

  /**
   * Sends a request and returns what `read` makes of the response. Retries after timeouts, broken connections and 5xx
   * responses.
   */
  async #request<T>(
    method: string,
    name: string,
    { query = {}, headers = {}, body }: BucketRequest = {},
    read: (answer: Response) => Promise<T>,
  ): Promise<T> {
    if (this.#client === null)
      throw this.#unavailable('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set');
    const search = new URLSearchParams(query).toString();
    const path = name === '' ? '' : `/${this.#address.prefix}${name}`;
    const url = `${this.#address.url}${path}${search && `?${search}`}`;
    for (let tried = 1; ; tried++) {
      let reason: string;
      const aborter = new AbortController();
      try {
        const signed = await this.#client.sign(url, { method, headers, body, signal: aborter.signal });
        const answer = await this.#withTimeout(fetch(signed));
        if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) {
          const result = await this.#withTimeout(read(answer));
          this.outage = null;
          return result;
        }
        reason = `it answered ${answer.status}`;
        await answer.body?.cancel();
      } catch (error) {
        aborter.abort();
        reason = errorReason(error);
      }
      if (tried >= this.#tries) throw this.#unavailable(reason);
      await this.#pauseAfter(tried);
    }
  }

  /** Returns the response if its status is 2xx or `accepted`. Throws otherwise. */
  #checkStatus(answer: BucketResponse, accepted?: number): BucketResponse {
    if (!answer.ok && answer.status !== accepted) throw this.#statusError(answer);
    return answer;
  }

  #statusError({ status, text }: BucketResponse): RelayError {
    const code = xmlValue(text, 'Code');
    return this.#unavailable(`it answered ${status}${code ? ` ${code}` : ''}`);
  }

  #unavailable(what: string): RelayError {
    this.outage = what;
    return new RelayError('bucket_unavailable', { bucket: this.name, what });
  }

  #pauseAfter(tried: number): Promise<void> {
    return pause(this.#pauseMs * 2 ** (tried - 1) * (0.5 + Math.random()));
  }

  async #withTimeout<T>(work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('it does not answer')), SILENCE_TIMEOUT_MS);
    });
    try {
      return await Promise.race([work, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function errorReason(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
}

async function readResponse(answer: Response): Promise<BucketResponse> {
  const { ok, status, headers } = answer;
  return { ok, status, headers, text: await answer.text() };
}

function responseTime(headers: Headers): number {
  return Date.parse(headers.get('date') ?? '');
}

/**
 * Returns the content of the first XML element with this name. Does not unescape it, because object names and ids
 * contain no escaped characters.
 */
function xmlValue(xml: string, name: string): string | null {
  return xmlValues(xml, name)[0] ?? null;
}

function xmlValues(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map((match) => match[1]!);
}
