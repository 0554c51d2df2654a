import type { ContextRelay } from '../sdk/context-relay.ts';

/** A client of a relay in the same process, for tests. */
export interface MemoryRelay extends ContextRelay, AsyncDisposable {
  /** Moves the clock of the relay forward, for example to let a pointer expire. */
  advance(ms: number): void;
}

/**
 * Returns a client of a new, empty relay in this process: the real relay with its data in memory, without network or
 * files. This file declares the types of `contextrelay/testing`. At run time, package.json maps the import to the
 * bundle of src/app/testing.ts.
 */
export declare function memoryRelay(): MemoryRelay;
