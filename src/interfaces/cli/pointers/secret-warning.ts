import { SECRET_SCAN_CHARS } from '../../../base/limits.ts';
import { findSecrets } from '../../../base/secrets.ts';
import type { Io } from '../io.ts';

type Body = Uint8Array | ReadableStream<Uint8Array>;

export interface Kept {
  readonly body: Body;
  /** How much has passed through. */
  size(): number;
  beginning(): Uint8Array;
}

/** Keeps as much of the beginning of what passes through as the search for secrets looks at. */
export function keepBeginning(body: Body): Kept {
  if (body instanceof Uint8Array) {
    return { body, size: () => body.byteLength, beginning: () => body.subarray(0, SECRET_SCAN_CHARS) };
  }
  const kept: Uint8Array[] = [];
  let left = SECRET_SCAN_CHARS;
  const passing = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (left > 0) kept.push(chunk.slice(0, left));
        left -= chunk.byteLength;
        controller.enqueue(chunk);
      },
    }),
  );
  return { body: passing, size: () => SECRET_SCAN_CHARS - left, beginning: () => Buffer.concat(kept) };
}

/** Says what kind of secret is in which line, and what to type; never the secret. Says nothing about binary data. */
export function warnOfSecrets(io: Io, beginning: Uint8Array, id: string): void {
  if (beginning.includes(0)) return;
  const found = findSecrets(new TextDecoder().decode(beginning));
  if (found.length === 0) return;
  const named = found.slice(0, 3).map(({ kind, line }) => `${kind} in line ${line}`);
  if (found.length > 3) named.push(`${found.length - 3} more`);
  io.warn(`this looks like it holds a secret (${named.join(', ')}), and it was stored unencrypted.`);
  io.note(`  → relay rm ${id}, then push it again with --encrypt`);
}
