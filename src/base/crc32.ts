/** CRC-32 as ZIP and gzip use it. Of bytes in several pieces, `before` is the value of those that came first. */
export function crc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  // Byte by byte: packing the same bytes takes longer still.
  for (let i = 0; i < bytes.length; i++) crc = TABLE[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});
