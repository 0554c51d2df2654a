/** Clock and random source. They are passed in, so that tests can control them. */
export interface Env {
  /** Milliseconds since the epoch. */
  now(): number;
  randomBytes(length: number): Uint8Array<ArrayBuffer>;
}

export const systemEnv: Env = {
  now: () => Date.now(),
  randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};
