import { deflateRawSync } from 'node:zlib';
import { crc32 } from '../../src/base/hash.ts';

/** An entry of a forged archive. Fields that are not set get correct values. */
export interface Entry {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly localName?: string;
  readonly store?: boolean;
  readonly size?: number;
  readonly packedSize?: number;
  readonly crc?: number;
  readonly mode?: number;
  readonly flags?: number;
  readonly method?: number;
  readonly offset?: number;
}

/** Writes an archive by hand, so that any field can be wrong. */
export function forgeZip(
  entries: readonly Entry[],
  o: { prefix?: Uint8Array; suffix?: Uint8Array; count?: number } = {},
): Uint8Array {
  const parts: Uint8Array[] = [o.prefix ?? new Uint8Array(0)];
  const directory: Uint8Array[] = [];
  let offset = parts[0]!.length;
  for (const entry of entries) {
    const content =
      typeof entry.content === 'string' ? new TextEncoder().encode(entry.content) : entry.content;
    const body = entry.store ? content : new Uint8Array(deflateRawSync(content));
    const method = entry.method ?? (entry.store ? 0 : 8);
    const name = Buffer.from(entry.name, 'latin1');
    const localName = Buffer.from(entry.localName ?? entry.name, 'latin1');
    const local = Buffer.alloc(30 + localName.length);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(20, 4);
    local.writeUInt16LE(entry.flags ?? 0, 6);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(localName.length, 26);
    localName.copy(local, 30);
    const central = Buffer.alloc(46 + name.length);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE((3 << 8) | 20, 4);
    central.writeUInt16LE(20, 6);
    central.writeUInt16LE(entry.flags ?? 0, 8);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(entry.crc ?? crc32(content), 16);
    central.writeUInt32LE(entry.packedSize ?? body.length, 20);
    central.writeUInt32LE(entry.size ?? content.length, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(((entry.mode ?? 0o100600) << 16) >>> 0, 38);
    central.writeUInt32LE(entry.offset ?? offset, 42);
    name.copy(central, 46);
    parts.push(local, body);
    directory.push(central);
    offset += local.length + body.length;
  }
  const size = directory.reduce((sum, header) => sum + header.length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(o.count ?? entries.length, 8);
  end.writeUInt16LE(o.count ?? entries.length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return new Uint8Array(Buffer.concat([...parts, ...directory, end, o.suffix ?? new Uint8Array(0)]));
}
