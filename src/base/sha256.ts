/**
 * SHA-256 of a few kilobytes, at once. The `crypto` of the web takes a command ten milliseconds to load and a server a trip to
 * another thread, Node's own module takes a command five; what is longer is for these.
 */
export function sha256(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const state = INITIAL.slice();
  const end = bytes.length - (bytes.length % 64);
  const tail = new Uint8Array(bytes.length - end < 56 ? 64 : 128);
  tail.set(bytes.subarray(end));
  tail[bytes.length - end] = 0x80;
  const length = new DataView(tail.buffer, tail.length - 8);
  length.setUint32(0, bytes.length / 2 ** 29);
  length.setUint32(4, bytes.length << 3);
  for (let at = 0; at < end; at += 64) mix(state, bytes, at);
  for (let at = 0; at < tail.length; at += 64) mix(state, tail, at);
  const digest = new DataView(new ArrayBuffer(32));
  for (let i = 0; i < 8; i++) digest.setInt32(4 * i, state[i]!);
  return new Uint8Array(digest.buffer);
}

const WORDS = new Int32Array(64);

/** One block, as FIPS 180-4 names it in section 6.2.2. */
function mix(state: Int32Array, bytes: Uint8Array, at: number): void {
  const w = WORDS;
  for (let t = 0; t < 16; t++) {
    const i = at + 4 * t;
    w[t] = (bytes[i]! << 24) | (bytes[i + 1]! << 16) | (bytes[i + 2]! << 8) | bytes[i + 3]!;
  }
  for (let t = 16; t < 64; t++) {
    const x = w[t - 15]!;
    const y = w[t - 2]!;
    const s0 = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
    const s1 = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
    w[t] = w[t - 16]! + s0 + w[t - 7]! + s1;
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let t = 0; t < 64; t++) {
    const t1 = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[t]! + w[t]!;
    const t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  const sums = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < 8; i++) state[i]! += sums[i]!;
}

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/**
 * The first 32 bits behind the point: of the square roots of the first eight primes, of the cube roots of the first 64. Written out, since to
 * work them out takes a command a millisecond.
 */
// biome-ignore format: a table
const INITIAL = Int32Array.of(
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
);
// biome-ignore format: a table
const ROUNDS = Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
);
