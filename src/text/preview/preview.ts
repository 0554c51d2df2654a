import type { CONTENT_KINDS } from '../../base/enums.ts';
import type { Json } from '../../base/json.ts';
import { PREVIEW_BYTES, PREVIEW_LOOK_BYTES } from '../../base/limits.ts';
import { neutralise } from '../sanitize/neutralise.ts';
import { binaryKind } from './binary-kind.ts';
import { clip, cutNear } from './cut.ts';
import { emailText } from './email-text.ts';
import { htmlText } from './html-text.ts';

export type PreviewKind = (typeof CONTENT_KINDS)[number];

/** What is known of a content once it has gone by. */
export interface Content {
  /** Its beginning, as far as a preview looks. */
  readonly start: Uint8Array;
  readonly size: number;
  readonly lineCount: number;
  /** Whether all of it is UTF-8. */
  readonly isText: boolean;
}

export interface Preview {
  /** Data, not instructions: chat markup and the best-known phrases have been taken out. */
  readonly text: string;
  readonly line_count: number;
  readonly truncated: boolean;
  /** Bytes of the content. */
  readonly size: number;
}

/** What travels in place of a content: at most 2 KB, made for its kind, neutralised. The same for the same content. */
export function makePreview(kind: PreviewKind, content: Content): Preview {
  const { size, lineCount, isText, start } = content;
  if (kind === 'binary' || !isText) {
    const text = `${binaryKind(start)}, ${String(size).replace(/\B(?=(\d{3})+$)/g, ',')} bytes`;
    return { text, line_count: 0, truncated: size > 0, size };
  }
  // As a stream, so that a character that was cut in two at the end is left out.
  const seen = new TextDecoder('utf-8', { ignoreBOM: true }).decode(start, { stream: true });
  const { text, partial } = inWords(kind, seen, size);
  // Neutralising may make it longer or shorter; the cut comes last, from a little more than can be shown.
  const shown = cutNear(neutralise(text.slice(0, 3 * PREVIEW_BYTES)), PREVIEW_BYTES);
  const truncated = partial || shown.cut || text.length > 3 * PREVIEW_BYTES || start.length < size;
  return { text: shown.text, line_count: lineCount, truncated, size };
}

function inWords(kind: PreviewKind, text: string, size: number): { text: string; partial: boolean } {
  if (kind === 'html') return { text: htmlText(text), partial: true };
  if (kind === 'email') return { text: emailText(text), partial: true };
  if (kind === 'json' && size > PREVIEW_BYTES && size <= PREVIEW_LOOK_BYTES) {
    try {
      return { text: jsonShape(JSON.parse(text) as Json), partial: true };
    } catch {
      // It is shown as the text that it is.
    }
  }
  return { text, partial: false };
}

/** Deeper levels are told by their kind alone. */
const SHAPE_DEPTH = 3;
const SHAPE_KEYS = 24;

/** The shape of a document, a line for each place in it: names, kinds, counts and short values. */
function jsonShape(value: Json): string {
  const lines: string[] = [];
  writeShape(value, '', SHAPE_DEPTH, lines, '');
  return lines.join('\n');
}

function writeShape(value: Json, name: string, depth: number, lines: string[], indent: string): void {
  const label = name === '' ? '' : `${name}: `;
  if (Array.isArray(value)) {
    const kinds = [...new Set(value.slice(0, 1000).map(kindOf))].join(', ');
    lines.push(`${indent}${label}array of ${value.length}${kinds ? ` (${kinds})` : ''}`);
    const first = value[0];
    if (depth > 0 && isContainer(first)) writeShape(first, '[0]', depth - 1, lines, `${indent}  `);
    else if (depth > 0 && value.length > 0)
      lines.push(
        `${indent}  ${value.slice(0, 5).map(shortValue).join(', ')}${value.length > 5 ? ', …' : ''}`,
      );
    return;
  }
  if (!isContainer(value)) {
    lines.push(`${indent}${label}${shortValue(value)}`);
    return;
  }
  const keys = Object.keys(value);
  lines.push(`${indent}${label}object of ${keys.length}`);
  if (depth === 0) return;
  for (const key of keys.slice(0, SHAPE_KEYS))
    writeShape(value[key]!, clip(key, 60), depth - 1, lines, `${indent}  `);
  if (keys.length > SHAPE_KEYS) lines.push(`${indent}  … ${keys.length - SHAPE_KEYS} more`);
}

function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

function shortValue(value: Json): string {
  if (typeof value === 'string') return JSON.stringify(clip(value, 60));
  return isContainer(value) ? kindOf(value) : String(value);
}

function isContainer(value: Json | undefined): value is Json[] | { [key: string]: Json } {
  return typeof value === 'object' && value !== null;
}
