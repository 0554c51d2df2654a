/** CRC-32 as ZIP and gzip use it, eight bytes at a step. */
export class Crc32 {
  #crc = 0xffffffff;

  update(bytes: Uint8Array): void {
    const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as unknown as Uint32Array[];
    let crc = this.#crc;
    let i = 0;
    for (; i + 8 <= bytes.length; i += 8) {
      crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
      crc =
        t7![crc & 255]! ^
        t6![(crc >>> 8) & 255]! ^
        t5![(crc >>> 16) & 255]! ^
        t4![crc >>> 24]! ^
        t3![bytes[i + 4]!]! ^
        t2![bytes[i + 5]!]! ^
        t1![bytes[i + 6]!]! ^
        t0![bytes[i + 7]!]!;
    }
    for (; i < bytes.length; i++) crc = t0![(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
    this.#crc = crc;
  }

  get value(): number {
    return (this.#crc ^ 0xffffffff) >>> 0;
  }
}

export function crc32(bytes: Uint8Array): number {
  const crc = new Crc32();
  crc.update(bytes);
  return crc.value;
}

const TABLES = makeTables();

function makeTables(): Uint32Array[] {
  const tables = Array.from({ length: 8 }, () => new Uint32Array(256));
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    tables[0]![n] = c;
  }
  for (let n = 0; n < 256; n++) {
    for (let t = 1; t < 8; t++) {
      const before = tables[t - 1]![n]!;
      tables[t]![n] = tables[0]![before & 255]! ^ (before >>> 8);
    }
  }
  return tables;
}
