import { createHash, hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { RelayError } from '../../base/errors.ts';
import { checkRange } from '../../kernel/admission.ts';
import type { ByteRange } from '../../kernel/blobs.ts';
import { BlockHashes, type BodyFault, damagedBody, isIntact } from '../../kernel/block-hashes.ts';
import { isPlaced, type WrittenBody } from './body-files.ts';
import { BodyFile } from './body-stream.ts';
import type { FormerSpot } from './gone.ts';
import { readSpot } from './segments.ts';
import type { Store } from './store.ts';

/** A body as its row has it. */
export interface StoredBody extends FormerSpot {
  readonly sha256: string;
  /** The hashes of its blocks; null for one of format 1 that no sweep has read yet. */
  readonly blocks: Uint8Array | null;
  /** Null for one that is not in the row. */
  readonly body: Uint8Array | null;
}

type Checking = Pick<Store, 'home'>;

/** A body that is held whole, checked; null for one in a file of its own, or that is not, or no longer, what was stored. */
export function wholeBody({ home }: Checking, row: StoredBody): Uint8Array | null {
  const body = bodyAtOnce(home, row);
  if (body?.length !== row.size) return null;
  const intact = row.blocks ? isIntact(body, row.blocks, 0, crc32) : hash('sha256', body) === row.sha256;
  return intact ? body : null;
}

/** Reads all of it and says what is wrong; null where it is what was stored. */
export async function faultOf(store: Checking, row: StoredBody): Promise<BodyFault | null> {
  const found = await measured(store, row);
  if (!found) return row.file !== null && existsSync(join(store.home, row.file)) ? 'cut' : 'missing';
  if (found.size < row.size) return 'cut';
  const same = row.blocks === null || Buffer.compare(found.blocks, row.blocks) === 0;
  return same && found.sha256 === row.sha256 ? null : 'altered';
}

/** What there is of a body, whatever its row says of it; null where there is nothing, or too little of a segment. */
export async function measured(store: Checking, row: StoredBody): Promise<WrittenBody | null> {
  const sha256 = createHash('sha256');
  const blocks = new BlockHashes(crc32);
  let size = 0;
  const pieces = await piecesOf(store.home, row);
  if (!pieces) return null;
  for await (const piece of pieces) {
    sha256.update(piece);
    blocks.update(piece);
    size += piece.length;
  }
  return { size, sha256: sha256.digest('hex'), blocks: blocks.digest() };
}

async function piecesOf(home: string, row: StoredBody) {
  if (row.file !== null && row.offset === null) {
    const open = BodyFile.open(join(home, row.file));
    return open ? open.stream({ start: 0, end: open.size }) : null;
  }
  const body = bodyAtOnce(home, row);
  return body && [body];
}

function bodyAtOnce(home: string, { file, offset, size, body }: StoredBody): Uint8Array | null {
  if (file === null) return body;
  return offset === null ? null : readSpot(home, { file, offset }, size);
}

/** The bytes of a file; null where it is not, or no longer, what was stored, as far as it has to be read for the first of them. */
export async function openedBody(
  store: Checking,
  row: StoredBody,
  range: ByteRange | undefined,
): Promise<ReadableStream<Uint8Array> | null> {
  if (range) checkRange(range, row.size);
  const blocks = row.blocks ?? (await hashedNow(store, row));
  const open = blocks && BodyFile.open(join(store.home, row.file!));
  if (!open) return null;
  if (open.size !== row.size) {
    open.close();
    return null;
  }
  return open.stream(
    range ?? { start: 0, end: row.size },
    (piece, at) => isIntact(piece, blocks, at, crc32),
    row.file!,
  );
}

/** For a body of format 1 that no sweep has read yet; null where it is not what was stored. */
async function hashedNow(store: Checking, row: StoredBody): Promise<Uint8Array | null> {
  const found = await measured(store, row);
  return found?.sha256 === row.sha256 ? found.blocks : null;
}

/** What is wrong with a body, told. A file that people can read they can edit, too. */
export async function damageOf(store: Checking, key: string, row: StoredBody): Promise<RelayError> {
  const name = row.file ?? key;
  const fault = (await faultOf(store, row)) ?? 'altered';
  if (!isPlaced(name) || fault === 'missing') return damagedBody(name, fault);
  const hint =
    'It counts as it was stored. Put it back so, or store the changed one anew: relay artifact put';
  return damagedBody(name, fault, hint);
}

/** A body that is in its row, or a range of it. */
export function inlined(body: Uint8Array, range: ByteRange | undefined) {
  const size = body.length;
  if (!range) return { body, size };
  checkRange(range, size);
  return { body: body.subarray(range.start, range.end), size };
}
