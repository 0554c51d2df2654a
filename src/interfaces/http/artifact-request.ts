import { fromBase64 } from '../../base/base64.ts';
import { readThrough } from '../../base/byte-streams.ts';
import { RelayError, tooLarge } from '../../base/errors.ts';
import { isJsonObject, parseJson } from '../../base/json.ts';
import { ARTIFACT_BYTES } from '../../base/limits.ts';
import { decodeUtf8, encodeUtf8 } from '../../base/utf8.ts';
import type { ArtifactFields, ArtifactInput } from '../../contract/threads/artifacts.ts';
import { readJsonPush } from './json-push-stream.ts';
import { type Form, readForm } from './multipart.ts';

/** JSON up to this size is read whole; beyond it the content is streamed out of the text around it. */
const WHOLE_JSON_BYTES = 2 * 1024 * 1024;
/** JSON may escape every byte as `\u00XX`. */
const JSON_WIRE_BYTES = ARTIFACT_BYTES * 6 + 256 * 1024;
const UNWRAPPED = 'Send the content itself as the body with ?name=…, or as a form with a file.';

/**
 * `POST …/artifacts`: a JSON object with `content` of at most `jsonBytes`, a form with a file, or the content itself as the body.
 */
export async function artifactInput(
  request: Request,
  query: URLSearchParams,
  jsonBytes?: number,
): Promise<ArtifactInput> {
  const type = request.headers.get('content-type') ?? '';
  const key = request.headers.get('idempotency-key') ?? undefined;
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (!request.body) throw new RelayError('empty_payload');
  if (/^application\/json\b/i.test(type) && !query.has('name')) {
    if (length > JSON_WIRE_BYTES)
      throw new RelayError('too_large', { what: 'an artifact', limit: ARTIFACT_BYTES });
    return { ...(await fromJson(request, length, jsonBytes)), idempotency_key: key };
  }
  if (/^multipart\/form-data\b/i.test(type))
    return { ...(await fromForm(request, type)), idempotency_key: key };
  const fields = fieldsOf({
    name: query.get('name'),
    type: query.get('type'),
    mime: query.get('mime') ?? (saysNothing(type, query) ? null : type),
    source_refs: query.has('source_ref') ? query.getAll('source_ref') : undefined,
  });
  return {
    body: request.body,
    size: Number.isNaN(length) ? undefined : length,
    ...fields,
    idempotency_key: key,
  };
}

/** Whether a content type is only what clients say of any body; whoever names the type knows better. */
function saysNothing(type: string, query: URLSearchParams): boolean {
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return true;
  return query.has('type') && /^application\/octet-stream\b/i.test(type);
}

async function fromJson(request: Request, length: number, most?: number): Promise<ArtifactInput> {
  if (!(length <= WHOLE_JSON_BYTES)) {
    const { data, fields } = readJsonPush(request.body!, 'content');
    return {
      body: most === undefined ? data : cutOff(data, most),
      late: () => {
        const rest = fields();
        if (rest.encoding === 'base64') {
          throw new RelayError('bad_request', {
            what: 'Base64 of this size is not taken.',
            hint: UNWRAPPED,
          });
        }
        return fieldsOf(rest);
      },
    };
  }
  const text = decodeUtf8(new Uint8Array(await request.arrayBuffer()));
  const parsed = text === null ? null : parseJson(text);
  if (!isJsonObject(parsed) || typeof parsed.content !== 'string') {
    throw new RelayError('bad_request', {
      what: 'The JSON body must be an object with a text in "content".',
    });
  }
  const { content, encoding, ...rest } = parsed;
  if (encoding !== undefined && encoding !== 'base64' && encoding !== 'utf8') {
    throw new RelayError('bad_request', { what: '"encoding" is "utf8" or "base64".' });
  }
  const body = encoding === 'base64' ? fromBase64(content as string) : encodeUtf8(content as string);
  if (!body) throw new RelayError('bad_request', { what: '"content" is not base64.' });
  return { body, ...fieldsOf(rest) };
}

function cutOff(body: ReadableStream<Uint8Array>, most: number): ReadableStream<Uint8Array> {
  let left = most;
  return readThrough(body, async (next) => {
    const read = await next();
    left -= read.value?.length ?? 0;
    if (left < 0) throw tooLarge('an artifact in JSON', most, UNWRAPPED);
    return read;
  });
}

async function fromForm(request: Request, type: string): Promise<ArtifactInput> {
  const form = await readForm(request.body!, type);
  const { file } = form;
  if (file) return { body: file.body, ...formFields(form), late: () => formFields(form) };
  const content = form.fields.get('content');
  if (content === undefined)
    throw new RelayError('bad_request', { what: 'The form has neither a file nor "content".' });
  return { body: encodeUtf8(content), ...formFields(form) };
}

function formFields({ file, fields }: Form): ArtifactFields {
  // What a program says when it does not know is not worth more than the name.
  const told = file?.mime && !/^application\/octet-stream/i.test(file.mime) ? file.mime : undefined;
  const refs = fields.get('source_refs');
  return fieldsOf({
    name: fields.get('name') ?? file?.name,
    type: fields.get('type'),
    mime: fields.get('mime') ?? told,
    source_refs: refs ? refs.split(',').map((ref) => ref.trim()) : undefined,
  });
}

/** The fields we know; what is empty is as good as missing. The domain says what is wrong with their values. */
function fieldsOf(from: { [name: string]: unknown }): ArtifactFields {
  const { name, type, mime, source_refs } = from as ArtifactFields;
  for (const [field, value] of Object.entries({ name, type, mime })) {
    if (value !== undefined && value !== null && typeof value !== 'string') {
      throw new RelayError('bad_request', { what: `"${field}" must be a text.` });
    }
  }
  if (source_refs !== undefined && source_refs !== null && !Array.isArray(source_refs)) {
    throw new RelayError('bad_request', { what: '"source_refs" must be a list of texts.' });
  }
  return {
    name: name || undefined,
    type: type || undefined,
    mime: mime || undefined,
    source_refs: source_refs || undefined,
  };
}
