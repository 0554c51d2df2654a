import { type Agent, type IncomingMessage, request } from 'node:http';
import { gunzipSync } from 'node:zlib';

/**
 * Sends requests over real HTTP and compares the answers with a text file in `transcripts`. Clock, random source and Host are
 * fixed, so ids, times and keys are the same in every run.
 *
 * `UPDATE_PINS=1 node --test test/pins/` rewrites the files. Read the difference before you commit it.
 */

export interface Pinned {
  /** Name of the request in the transcript. It also seeds the random source. */
  readonly name: string;
  /** Name of the JSON answer. Later requests can use its fields, such as `{{pushed.id}}` if the name is `pushed`. */
  readonly as?: string;
  /** Method and path, such as `GET /pull/{{pushed.id}}`. */
  readonly send: string;
  readonly headers?: { readonly [name: string]: string };
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
  /** Name (`as`) of an earlier request. The body of its answer is sent as the body of this request. */
  readonly bodyOf?: string;
  /** Value of the Content-Length header of a request without a body. */
  readonly declare?: number;
  /** Number of events to read from a stream. The stream stays open until the end of the transcript. */
  readonly events?: number;
  /** Status to wait for: closes all streams, then repeats the request until the server answers with this status. */
  readonly alone?: number;
  /** `type`: records only the status and the content type. */
  readonly pin?: 'type';
  /** Keeps the path as it is when all other requests are sent under `/v1`. */
  readonly fixed?: true;
}

/** Host name of the relay, so that its URLs do not depend on the port. */
const HOST = '127.0.0.1:7474';

export interface Ready extends Omit<Pinned, 'body' | 'headers'> {
  readonly headers: { [name: string]: string };
  readonly body: Buffer | null;
}

export interface Answer {
  readonly status: number;
  readonly headers: readonly [name: string, value: string][];
  readonly body: Buffer;
  readonly stream: IncomingMessage;
}

export function prepare(pinned: Pinned, fill: (text: string) => string, bodies: Map<string, Buffer>): Ready {
  const headers: { [name: string]: string } = {};
  if (pinned.json !== undefined) headers['Content-Type'] = 'application/json';
  for (const [name, value] of Object.entries(pinned.headers ?? {})) headers[name] = fill(value);
  if (pinned.declare !== undefined) headers['Content-Length'] = String(pinned.declare);
  const text = pinned.json === undefined ? pinned.body : JSON.stringify(pinned.json);
  const ownBody =
    text === undefined ? null : typeof text === 'string' ? Buffer.from(fill(text)) : Buffer.from(text);
  const body = pinned.bodyOf === undefined ? ownBody : bodies.get(pinned.bodyOf)!;
  return { ...pinned, send: fill(pinned.send), headers, body };
}

/** Sends a request with exactly these headers. */
export function send(base: string, under: string, ready: Ready, agent: Agent): Promise<Answer> {
  const [method, path] = ready.send.split(' ') as [string, string];
  const { hostname, port } = new URL(base);
  const headers = { Host: HOST, ...ready.headers };
  const signal = AbortSignal.timeout(10_000);
  return new Promise((resolve, reject) => {
    const alone = ready.declare !== undefined || ready.events !== undefined;
    const options = { hostname, port, method, path: under + path, headers, signal };
    const clientRequest = request({ ...options, agent: alone ? false : agent });
    clientRequest.on('error', (error) =>
      reject(new Error(`${ready.name}: ${error.message}`, { cause: error })),
    );
    clientRequest.on('response', async (stream) => {
      let body = Buffer.alloc(0);
      const done = () => {
        const pairs = stream.rawHeaders.flatMap((name, i, all): [string, string][] =>
          i % 2 === 0 ? [[name.toLowerCase(), all[i + 1]!]] : [],
        );
        resolve({ status: stream.statusCode!, ...unpacked(pairs, body), stream });
        if (ready.declare !== undefined) clientRequest.destroy();
      };
      // Match the first `asked.events` events and ignore later ones. The stream may begin with a `retry:` field.
      const pattern = new RegExp(`^(?:retry: \\d+\\n\\n)?(?:(?!retry:)(?:.+\\n)+\\n){${ready.events}}`);
      stream.on('error', () => {});
      stream.on('data', (chunk: Buffer) => {
        body = Buffer.concat([body, chunk]);
        const events = ready.events === undefined ? null : pattern.exec(body.toString());
        if (!events) return;
        body = Buffer.from(events[0]);
        stream.removeAllListeners('data').resume();
        done();
      });
      stream.on('end', done);
    });
    if (ready.declare === undefined) clientRequest.end(ready.body ?? undefined);
    else clientRequest.flushHeaders();
  });
}

/** Decompresses an answer and corrects its headers, because only some platforms compress. */
function unpacked(headers: Answer['headers'], body: Buffer): Pick<Answer, 'headers' | 'body'> {
  if (body.length === 0 || !headers.some(([name, value]) => name === 'content-encoding' && value === 'gzip'))
    return { headers, body };
  const content = gunzipSync(body);
  const others = headers.filter(([name]) => name !== 'content-encoding' && name !== 'content-length');
  return { headers: [...others, ['content-length', String(content.length)]], body: content };
}

/** Returns the JSON of an answer, or the data of each of its events. */
export function meaningOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
  }
}
