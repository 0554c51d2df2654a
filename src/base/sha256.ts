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

const PRIMES: number[] = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((prime) => n % prime !== 0)) PRIMES.push(n);

/** The first 32 bits behind the point: of the square roots of eight primes, of the cube roots of 64. */
const INITIAL = Int32Array.from(PRIMES.slice(0, 8), (prime) => (Math.sqrt(prime) % 1) * 2 ** 32);
const ROUNDS = Int32Array.from(PRIMES, (prime) => (Math.cbrt(prime) % 1) * 2 ** 32);
