/**
 * Functions of Bun that this program uses. They need no loading; the `node:` modules take Bun milliseconds to load.
 */
interface BunFunctions {
  readonly CryptoHasher: new (algorithm: 'sha256') => Sha256;
  readonly hash: { crc32(bytes: Uint8Array, before?: number): number };
  mmap(path: string): Uint8Array;
  spawn(argv: readonly string[], o: SpawnOptions): SpawnedProgram;
  readonly stdin: { stream(): ReadableStream<Uint8Array> };
  readonly unsafe: { setJITPolicy(scale: number): void };
}

export interface Sha256 {
  update(piece: string | Uint8Array): this;
  digest(encoding: 'hex'): string;
}

interface SpawnOptions {
  readonly timeout: number;
  readonly maxBuffer: number;
  readonly windowsHide: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: 'ignore' | Uint8Array;
  readonly stdout: 'pipe';
  readonly stderr: 'pipe';
}

interface SpawnedProgram {
  readonly exited: Promise<number>;
  readonly stdout: { bytes(): Promise<Uint8Array> };
  readonly stderr: { text(): Promise<string> };
}

/** Bun, if this program runs on it; undefined on Node. All code that depends on the runtime uses this constant. */
export const bun = (globalThis as { readonly Bun?: BunFunctions }).Bun;
