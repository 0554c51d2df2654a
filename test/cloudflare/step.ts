import { fromBase64, toBase64 } from '../../src/base/base64.ts';

/** Time and random bytes that a test sends to the platform with each request. */
export interface Step {
  /** Offset of the clock in ms. */
  readonly shift: number;
  /** Fixed time in ms, if the clock stands still. */
  readonly now?: number;
  /** The next random values. Without them the platform's generator is used. */
  readonly chance?: Chance;
}

/** Random values in base64, keyed by their number of bytes. */
export interface Chance {
  readonly [length: number]: string[];
}

export const STEP_HEADER = 'Relay-Test-Step';
export const CONTROL_PATH = '/relay-under-test/';

/** A method call to the engine of an object. */
export interface ObjectCall {
  /** Name of the object. Null for all objects. */
  readonly object: string | null;
  /** Method of the engine or of a port, such as `sweep` or `records.get`. */
  readonly method: string;
  readonly given: readonly unknown[];
}

/** Result of a call, or the text of its error. */
export interface CallAnswer {
  readonly value?: unknown;
  readonly error?: string;
}

/** Serializes a value as JSON, with bytes and undefined. */
export function pack(value: unknown): string {
  return JSON.stringify(value, (_, item) => {
    if (item === undefined) return { $: 'undefined' };
    if (item instanceof Uint8Array) return { $: toBase64(item) };
    return item;
  });
}

export function unpack(text: string): unknown {
  return JSON.parse(text, (_, item) => {
    if (typeof item?.$ !== 'string') return item;
    return item.$ === 'undefined' ? undefined : fromBase64(item.$)!;
  });
}
