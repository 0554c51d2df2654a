/** CRC-32 as ZIP and gzip use it, byte by byte: packing the same bytes takes longer still. */
export class Crc32 {
  #crc = 0xffffffff;

  update(bytes: Uint8Array): void {
    let crc = this.#crc;
    for (let i = 0; i < bytes.length; i++) crc = TABLE[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
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

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});
