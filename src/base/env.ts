/** Clock and random source. They are passed in, so that tests can control them. */
export interface Env {
  /** Milliseconds since the epoch. */
  now(): number;
  randomBytes(length: number): Uint8Array<ArrayBuffer>;
  /** Four hexadecimal digits in the ids of pointers, on a platform that finds their store by these digits (`markedId`). */
  readonly idMark?: string;
}

export const systemEnv: Env = {
  now: () => Date.now(),
  randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};
