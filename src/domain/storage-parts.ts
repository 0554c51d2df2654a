import type { JsonObject } from '../base/json.ts';
import type { Records } from '../kernel/records.ts';
import { spacesPrefix } from './files/record.ts';
import { channelsPrefix, fromSegment } from './names.ts';
import { allRecords } from './records.ts';
import { listPrefix } from './threads/keys.ts';

/**
 * A channel, a space of files or a thread. The storage of a tenant is the sum of the storage of its parts.
 */
export interface StoragePart {
  readonly tenant: string;
  readonly kind: 'channel' | 'space' | 'thread';
  readonly name: string;
  /** Expiry of a thread, if it has one. */
  readonly expires?: number;
}

/** For each kind of part: a function that returns the key prefix of a tenant's list of these parts. */
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
