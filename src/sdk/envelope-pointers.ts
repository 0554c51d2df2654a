import { fromBase64 } from '../base/base64.ts';
import { isJsonObject, jsonObjectIn } from '../base/json.ts';
import { STORED_BYTES } from '../base/limits.ts';
import { decodeUtf8, encodeUtf8 } from '../base/utf8.ts';
import type { Inspected, PointersApi, Pulled } from '../contract/pointers.ts';
import { takePart } from '../text/parts/take-part.ts';
import { type HttpAnswer, type HttpCall, type HttpClient, notARelay } from './http-client.ts';
import { collect, letGo, nativeMatcher } from './payload.ts';

/** In JSON a text takes more room than by itself; three times as much is beyond what any prose or code comes to. */
const ENVELOPE_BYTES = 3 * STORED_BYTES;

/** What is known of a pointer whose server says nothing beside its metadata, as that of the original ContextRelay does. */
export const UNTOLD: Omit<Inspected, 'id' | 'metadata'> = {
  size: null,
  sha256: null,
  text: null,
  content_type: null,
  channel: null,
  created_at: null,
  expires_at: null,
  max_pulls: null,
  visibility: null,
  from: null,
};

/** A payload that came as `{data, metadata}` and nothing else. */
export async function envelopeIn(answer: HttpAnswer, id: string, base: string) {
  const limit = { bytes: ENVELOPE_BYTES, what: 'a payload' };
  const received = answer.body ? await collect(answer.body, limit) : new Uint8Array();
  const { data, metadata = {}, encoding } = jsonObjectIn(decodeUtf8(received)) ?? {};
  const body = typeof data !== 'string' ? null : encoding === 'base64' ? fromBase64(data) : encodeUtf8(data);
  if (body === null || !isJsonObject(metadata)) throw notARelay(base, 'it does not answer {data, metadata}');
  const text = encoding !== 'base64' || decodeUtf8(body) !== null;
  return { about: { id, metadata, ...UNTOLD, size: body.byteLength, text }, body } satisfies Pulled;
}

/** Reads any address that answers the envelope. There the id of a pointer is the address itself. */
export function addressPointers(client: HttpClient): Pick<PointersApi, 'pull' | 'peek' | 'part'> {
  const read = (address: string, doing: string) => {
    const { pathname, search } = new URL(address);
    const headers = { Accept: 'application/json, text/plain' };
    const call: HttpCall = { method: 'GET', path: pathname + search, headers, repeatable: true, doing };
    return client.run(call, (answer) => envelopeIn(answer, address, client.base));
  };
  return {
    pull: (address) => read(address, 'pull'),
    part: async (address, part) => takePart((await read(address, 'pull')).body, part, nativeMatcher),
    async peek(address) {
      const { about, body } = await read(address, 'peek');
      await letGo(body);
      return about;
    },
  };
}
