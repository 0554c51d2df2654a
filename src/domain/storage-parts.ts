import type { JsonObject } from '../base/json.ts';
import type { Records } from '../kernel/records.ts';
import { headsPrefix, spacesPrefix } from './files/record.ts';
import { channelStream, channelsPrefix, fromSegment } from './names.ts';
import { allRecords } from './records.ts';
import { listPrefix, logOf, rootsFor } from './threads/keys.ts';

/** A channel, a space of files or a thread: what a tenant stores is the sum of these. */
export interface StoragePart {
  readonly tenant: string;
  readonly kind: 'channel' | 'space' | 'thread';
  readonly name: string;
  /** Of a thread that ends by itself. */
  readonly expires?: number;
}

/** Where each kind is listed. */
const LISTS = { channel: channelsPrefix, space: spacesPrefix, thread: listPrefix };

export async function* storageParts(records: Records, tenant: string): AsyncGenerator<StoragePart> {
  for (const [kind, prefixOf] of Object.entries(LISTS) as [StoragePart['kind'], typeof listPrefix][]) {
    const prefix = prefixOf(tenant);
    for await (const { key, value } of allRecords(records, prefix)) {
      const listed = key.slice(prefix.length);
      const name = kind === 'thread' ? listed.slice(listed.lastIndexOf('.') + 1) : fromSegment(listed);
      const { expires } = (value ?? {}) as JsonObject;
      yield { tenant, kind, name, ...(typeof expires === 'number' ? { expires } : {}) };
    }
  }
}

/** Under which name a part is kept, as a rule; all of it under the same first segment. */
export function placeOfPart({ tenant, kind, name }: StoragePart): string {
  if (kind === 'thread') return logOf(rootsFor(tenant, name)[0]);
  return kind === 'channel' ? channelStream(tenant, name) : headsPrefix({ tenant, space: name });
}
