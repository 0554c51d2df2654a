import { concatBytes } from '../base/byte-streams.ts';
import { isJsonObject, parseJson } from '../base/json.ts';
import { decodeUtf8, encodeUtf8 } from '../base/utf8.ts';

/**
 * Media type of a body that contains several files: one line of JSON, and below it the contents of the files in
 * `files`, one after the other. In the JSON, a file has `bytes`, the number of its bytes, instead of `content` and
 * `encoding`.
 */
export const FILES_TYPE = 'application/vnd.contextrelay.files';

const NEWLINE = 10;

export function encodeFiles(value: {
  readonly files: readonly { readonly content: Uint8Array }[];
}): Uint8Array {
  const files = value.files.map(({ content, ...file }) => ({ ...file, bytes: content.byteLength }));
  const line = encodeUtf8(`${JSON.stringify({ ...value, files })}\n`);
  return concatBytes([line, ...value.files.map(({ content }) => content)]);
}

/**
 * Decodes a body into its JSON, where `content` of each file is a view of the body. `parse` parses the JSON. Returns
 * null if the body is not of this form.
 */
export function decodeFiles(body: Uint8Array, parse = parseJson): DecodedFiles | null {
  const lineEnd = body.indexOf(NEWLINE);
  const line = lineEnd < 0 ? null : decodeUtf8(body.subarray(0, lineEnd));
  const value = line === null ? null : parse(line);
  if (!isJsonObject(value) || !Array.isArray(value.files)) return null;
  let at = lineEnd + 1;
  const files = [];
  for (const file of value.files) {
    if (!isJsonObject(file)) return null;
    const { bytes, ...rest } = file;
    if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) return null;
    files.push({ ...rest, content: body.subarray(at, at + bytes) });
    at += bytes;
  }
  return at === body.byteLength ? { ...value, files } : null;
}

type DecodedFiles = { readonly [field: string]: unknown } & {
  readonly files: readonly { readonly [field: string]: unknown; readonly content: Uint8Array }[];
};
