import { printable } from '../human.ts';

/** A value of an option for people: a text without quotes, all else as JSON. */
export function settingText(value: unknown): string {
  if (value === null) return 'not set';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}
