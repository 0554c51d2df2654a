/** Time and chance, passed in so that a test can hold them still. */
export interface Env {
  /** Milliseconds since the epoch. */
  now(): number;
  randomBytes(length: number): Uint8Array<ArrayBuffer>;
}

/** Fetched together: every push needs a few, and asking the system for them costs more than giving them. */
const POOL_BYTES = 1024;
let pool = new Uint8Array(0);

export const systemEnv: Env = {
  now: () => Date.now(),
  randomBytes(length) {
    if (length > POOL_BYTES / 4) return crypto.getRandomValues(new Uint8Array(length));
    if (pool.length < length) pool = crypto.getRandomValues(new Uint8Array(POOL_BYTES));
    const given = pool.slice(0, length);
    // None is ever given twice, nor left behind.
    pool.fill(0, 0, length);
    pool = pool.subarray(length);
    return given;
  },
};
