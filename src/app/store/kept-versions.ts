import { createHash, hash } from 'node:crypto';
import type { Json } from '../../base/json.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { KeptBlob, KeptDocument, KeptEntry, KeptRecord } from '../../kernel/moving.ts';

/** What two things that are kept in two stores are compared by: the same text for the same thing. */

export function recordVersion({ revision, expiresAt = 0, value }: Omit<KeptRecord, 'key'>): string {
  return `${revision} ${expiresAt} ${digest(value)}`;
}

export function blobVersion({ at, size, sha256, expiresAt = 0 }: KeptBlob): string {
  return `${at} ${size} ${sha256} ${expiresAt}`;
}

/** Without what no engine keeps. */
export function documentVersion({ text, fields }: KeptDocument): string {
  return digest([text.toWellFormed().replace(/[\u0000\u0002\u0003\u200b]/g, ' '), fields]);
}

export function entryVersion({ seq, at, id = '', data }: KeptEntry): string {
  return `${seq} ${at} ${id} ${digest(data)}`;
}

function digest(value: Json): string {
  return hash('sha256', JSON.stringify(value), 'base64url');
}

export async function sha256Of(body: BlobBody): Promise<string> {
  const sha256 = createHash('sha256');
  if (body instanceof Uint8Array) sha256.update(body);
  else for await (const piece of body) sha256.update(piece);
  return sha256.digest('hex');
}
