import { toBase64Url } from '../base/base64.ts';
import { INLINE_BLOB_BYTES } from '../base/limits.ts';
import { decodeUtf8, encodeUtf8 } from '../base/utf8.ts';
import { type FileInfo, files } from '../contract/files.ts';
import type { Cost } from '../contract/pointers.ts';
import { notARelay } from './http-failure.ts';
import { decoded, metadataOf, PART_ANSWER_BYTES, partQuery, whole } from './http-pointers.ts';
import { brokeOff, rangeHeader, resumingBody, startOf } from './resuming-body.ts';
import { collect, letGo } from './streams.ts';
import { callOf, type HandMade, queryOf, upload, type VerbCalls } from './verb-calls.ts';

/** Contents travel as bytes, and what is known of them as headers. */
export function httpFiles(calls: VerbCalls): HandMade<typeof files> {
  const { client } = calls;
  const strange = (what: string) => notARelay(client.base, what);

  return {
    async put(space, path, input) {
      const { ttl, keep, if_match, if_none_match, content_type, metadata } = input;
      const encoded = metadata && toBase64Url(encodeUtf8(JSON.stringify(metadata)));
      const sent = upload(input.body, input.idempotency_key, {
        'Content-Type': 'application/octet-stream',
        // Empty says that the type is not known; without it the type of the transport would be taken for it.
        'Relay-Content-Type': encodeURIComponent(content_type ?? ''),
        ...(if_match === undefined ? {} : { 'If-Match': if_match }),
        ...(if_none_match === undefined ? {} : { 'If-None-Match': if_none_match }),
        ...(encoded ? { 'Relay-Metadata': encoded } : {}),
      });
      const query = queryOf({ ttl, keep });
      const call = callOf(files.put, { space, path }, { ...sent, query, doing: 'file' });
      return client.run(call, (answer) => calls.read<FileInfo>(answer));
    },

    async get(space, path, o = {}) {
      const query = queryOf({ version: o.version });
      const call = callOf(files.get, { space, path }, { query, headers: {}, doing: 'file' });
      const asked: Record<string, string> = o.range ? { Range: rangeHeader(o.range) } : {};
      return client.run({ ...call, headers: asked }, async (answer) => {
        const known = describedBy(answer.headers, space, path);
        const start = startOf(answer);
        if (!known || start === null) {
          await letGo(answer.body);
          throw strange('the file came without its headers');
        }
        const partial = answer.status === 206;
        const end = partial && o.range ? Math.min(o.range.end, known.size) : known.size;
        const rest = { start, end, etag: answer.headers.get('etag') };
        const body =
          answer.body === null || end - start <= INLINE_BLOB_BYTES
            ? await collect(answer.body ?? new Uint8Array(0), { bytes: end - start, what: 'a file' })
            : resumingBody(client, call, answer.body, rest);
        if (body instanceof Uint8Array && body.byteLength < end - start) throw brokeOff(client.base);
        return { file: known, body, ...(partial ? { range: { start, end } } : {}) };
      });
    },

    info: (space, path, o = {}) =>
      client.run(
        callOf(files.get, { space, path }, { query: queryOf({ ...o, info: true }), doing: 'file' }),
        (answer) => calls.read<FileInfo>(answer),
      ),

    log: (space, path) =>
      client.run(
        callOf(files.get, { space, path }, { query: queryOf({ log: true }), doing: 'file' }),
        async (answer) => (await calls.read<{ versions: FileInfo[] }>(answer)).versions,
      ),

    part(space, path, part, o = {}) {
      const query = partQuery({ ...part, version: o.version });
      return client.run(callOf(files.get, { space, path }, { query, doing: 'file' }), async (answer) => {
        const about = decoded(answer.headers.get('relay-part'));
        const limit = { bytes: PART_ANSWER_BYTES, what: 'a part' };
        const text = answer.body ? decodeUtf8(await collect(answer.body, limit)) : '';
        if (about === null || text === null) throw strange('that is no part of a file');
        return { text, about, truncated: answer.headers.get('relay-truncated') === '1' };
      });
    },

    cost(space, path, part, o = {}) {
      const query = partQuery({ ...part, version: o.version, cost: true });
      return client.run(callOf(files.get, { space, path }, { query, doing: 'file' }), (answer) =>
        calls.read<Cost>(answer),
      );
    },
  };
}

/** What headers tell of a file; null where they are not those of a relay. */
function describedBy(headers: Headers, space: string, path: string): FileInfo | null {
  const [version, size] = [whole(headers.get('relay-version')), whole(headers.get('relay-size'))];
  const [created_at, modified_at] = [headers.get('relay-created-at'), headers.get('relay-modified-at')];
  const metadata = metadataOf(headers);
  if (version === null || size === null || created_at === null || modified_at === null || !metadata)
    return null;
  return {
    space,
    path,
    version,
    etag: headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '') ?? '',
    size,
    sha256: headers.get('relay-sha256') ?? '',
    text: headers.get('relay-text') === '1',
    content_type: decoded(headers.get('relay-content-type')),
    metadata,
    created_at,
    modified_at,
    from: decoded(headers.get('relay-from')) ?? '',
    expires_at: headers.get('relay-expires-at'),
  };
}
