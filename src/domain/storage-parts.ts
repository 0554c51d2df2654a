import type { JsonObject } from '../base/json.ts';
import type { Records } from '../kernel/records.ts';
import { headsPrefix, spacesPrefix } from './files/record.ts';
import { channelStream, channelsPrefix, fromSegment } from './names.ts';
import { listPrefix, logOf, rootsFor } from './threads/keys.ts';

/** A channel, a space of files or a thread: what a tenant stores is the sum of these. */
export interface StoragePart {
  readonly tenant: string;
  readonly kind: 'channel' | 'space' | 'thread';
  readonly name: string;
  /** Of a thread that ends by itself. */
  readonly expires?: number;
}

/** Where each kind is listed, in the order of the keys, so that one key tells how far all of them were gone through. */
const LISTS = [
  ['channel', channelsPrefix],
  ['space', spacesPrefix],
  ['thread', listPrefix],
] as const;

/** The parts whose keys come behind `after`, `most` of them. */
export async function listParts(
  records: Pick<Records, 'list'>,
  tenant: string,
  { after, most }: { after: string; most: number },
): Promise<{ readonly key: string; readonly part: StoragePart }[]> {
  const found: { key: string; part: StoragePart }[] = [];
  for (const [kind, prefixOf] of LISTS) {
    if (found.length === most) break;
    const prefix = prefixOf(tenant);
    const { items } = await records.list(prefix, { after, limit: most - found.length });
    for (const { key, value } of items) {
      const listed = key.slice(prefix.length);
      const name = kind === 'thread' ? listed.slice(listed.lastIndexOf('.') + 1) : fromSegment(listed);
      const { expires } = (value ?? {}) as JsonObject;
      found.push({ key, part: { tenant, kind, name, ...(typeof expires === 'number' ? { expires } : {}) } });
    }
  }
  return found;
}

/** Under which name a part is kept, as a rule; all of it under the same first segment. */
export function placeOfPart({ tenant, kind, name }: StoragePart): string {
  if (kind === 'thread') return logOf(rootsFor(tenant, name)[0]);
  return kind === 'channel' ? channelStream(tenant, name) : headsPrefix({ tenant, space: name });
}
