import type { Json } from '../json.ts';
import { clip } from './cut.ts';

/** Deeper levels are told by their kind alone. */
const DEPTH = 3;
const KEYS = 24;

/** The shape of a document, a line for each place in it: names, kinds, counts and short values. */
export function jsonShape(value: Json): string {
  const lines: string[] = [];
  write(value, '', DEPTH, lines, '');
  return lines.join('\n');
}

function write(value: Json, name: string, depth: number, lines: string[], indent: string): void {
  const label = name === '' ? '' : `${name}: `;
  if (Array.isArray(value)) {
    const kinds = kindsOf(value);
    lines.push(`${indent}${label}array of ${value.length}${kinds ? ` (${kinds})` : ''}`);
    const first = value[0];
    if (depth > 0 && isContainer(first)) write(first, '[0]', depth - 1, lines, `${indent}  `);
    else if (depth > 0 && value.length > 0)
      lines.push(`${indent}  ${value.slice(0, 5).map(short).join(', ')}${value.length > 5 ? ', …' : ''}`);
    return;
  }
  if (!isContainer(value)) {
    lines.push(`${indent}${label}${short(value)}`);
    return;
  }
  const keys = Object.keys(value);
  lines.push(`${indent}${label}object of ${keys.length}`);
  if (depth === 0) return;
  for (const key of keys.slice(0, KEYS)) write(value[key]!, clip(key, 60), depth - 1, lines, `${indent}  `);
  if (keys.length > KEYS) lines.push(`${indent}  … ${keys.length - KEYS} more`);
}

function kindsOf(items: readonly Json[]): string {
  const kinds = new Set(items.slice(0, 1000).map(kindOf));
  return [...kinds].join(', ');
}

function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

function short(value: Json): string {
  if (typeof value === 'string') return JSON.stringify(clip(value, 60));
  return isContainer(value) ? kindOf(value) : String(value);
}

function isContainer(value: Json | undefined): value is Json[] | { [key: string]: Json } {
  return typeof value === 'object' && value !== null;
}
