import { compareRequests, type Side } from './compare-requests.ts';
import { summarise } from './statistics.ts';

/** Size in bytes of a text of about 30 000 tokens. Most benchmarks use payloads of this size. */
export const PAYLOAD_BYTES = 125_000;

/** A server that supports push, pull and peek, and the API key it requires, if any. */
export interface Peer {
  readonly url: string;
  readonly key?: string;
}

/** A kind of request, and the number of concurrent requests. */
export interface Shape {
  readonly verb: 'push' | 'pull' | 'peek';
  readonly form: 'raw' | 'json';
  readonly bytes: number;
  readonly atOnce: number;
}

/** Pushes a payload for pulls and peeks, and returns its pull URL. */
export async function pushOne({ url, key }: Peer, bytes = PAYLOAD_BYTES): Promise<string> {
  const response = await fetch(`${url}/push`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({
      data: 'All happy relays are alike.\n'.repeat(Math.ceil(bytes / 28)).slice(0, bytes),
      metadata: { summary: 'a report on forty files', from: 'bench' },
    }),
  });
  if (!response.ok)
    throw new Error(`The push was answered with ${response.status}: ${await response.text()}`);
  // Some servers answer only a URL; its last part is the id.
  const answer = (await response.json()) as { url: string };
  return `${url}/pull/${answer.url.split('/').at(-1)}`;
}

/** Returns the URL, body and key with which a client sends this kind of request to a relay. */
export async function relaySide(peer: Peer, { verb, form, bytes }: Shape): Promise<Side> {
  const { key } = peer;
  if (verb === 'push')
    return { url: `${peer.url}/push`, bodyBytes: bytes, ...(form === 'json' && { asJson: true }), key };
  const url = await pushOne(peer, bytes);
  if (verb === 'peek') return { url: url.replace('/pull/', '/peek/'), key };
  return form === 'raw' ? { url: `${url}?raw=1`, answerBytes: bytes, key } : { url, key };
}

/** Returns the URL and body of a request to the bare server that moves as many bytes. */
export async function bareSide(bareUrl: string, shape: Shape, ours: Side): Promise<Side> {
  if (shape.verb === 'push') return { url: `${bareUrl}/push`, bodyBytes: shape.bytes };
  const bytes =
    shape.verb === 'peek' ? (await (await fetch(ours.url)).arrayBuffer()).byteLength : shape.bytes;
  return { url: `${bareUrl}/bytes/${bytes}`, answerBytes: bytes };
}

/** Approximate maximum number of bytes per side, which limits disk space and run time. */
const TOTAL_BYTES = 1.5e9;

export async function compareShape(
  shape: Shape,
  ours: Side,
  baseline: Side,
  rounds: number,
  detail: string,
): Promise<ReturnType<typeof summarise>> {
  const { verb, bytes, atOnce } = shape;
  const few = verb === 'push' ? 40 : 150;
  const requests = Math.max(
    verb === 'peek' ? 200 : Math.min(few, Math.ceil((few * PAYLOAD_BYTES) / bytes), 1e7 / bytes),
    atOnce > 1 ? atOnce * (bytes > 1e6 ? 1 : verb === 'push' ? 10 : 50) : 3,
  );
  const affordable = verb === 'peek' ? rounds : Math.floor(TOTAL_BYTES / (requests * bytes));
  const result = await compareRequests({
    ours,
    baseline,
    rounds: Math.max(3, Math.min(atOnce > 1 ? Math.ceil(rounds / 2) : rounds, affordable)),
    requests: Math.ceil(requests),
    atOnce,
  });
  return summarise(result, atOnce === 1 ? 'ms' : '/s', detail);
}

export function sizeOf(bytes: number): string {
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} KB` : `${Math.round(bytes / 1e6)} MB`;
}
