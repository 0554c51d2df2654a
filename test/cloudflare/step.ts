import { fromBase64, toBase64 } from '../../src/base/base64.ts';

/** What a test tells the platform with each request. */
export interface Step {
  /** How far the clock was moved, in ms. */
  readonly shift: number;
  /** Where it stands still. */
  readonly now?: number;
  /** What is drawn next; the machine's chance where it says nothing. */
  readonly chance?: Chance;
}

/** Bytes in base64, by how many are drawn at once. */
export interface Chance {
  readonly [length: number]: string[];
}

export const STEP_HEADER = 'Relay-Test-Step';
export const CONTROL_PATH = '/relay-under-test/';

/** A method of an object, as it travels. */
export interface ObjectCall {
  readonly object: string;
  readonly method: string;
  readonly given: readonly unknown[];
}

/** JSON that takes bytes too; what is undefined in a list stays so. */
export function pack(value: unknown): string {
  return JSON.stringify(value, (_, item) => {
    if (item === undefined) return { $: 'undefined' };
    if (item instanceof ArrayBuffer) return { $: toBase64(new Uint8Array(item)) };
    return item;
  });
}

export function unpack(text: string): unknown {
  return JSON.parse(text, (_, item) => {
    if (typeof item?.$ !== 'string') return item;
    return item.$ === 'undefined' ? undefined : fromBase64(item.$)!.buffer;
  });
}
