import type { Json } from '../json.ts';
import { PREVIEW_BYTES, PREVIEW_LOOK_BYTES } from '../limits.ts';
import { neutralise } from '../sanitize/neutralise.ts';
import { binaryKind } from './binary-kind.ts';
import type { CONTENT_KINDS } from './content-kinds.ts';
import { cutAtLine } from './cut.ts';
import { emailText } from './email-text.ts';
import { htmlText } from './html-text.ts';
import { jsonShape } from './json-shape.ts';

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

export interface PreviewText {
  readonly text: string;
  readonly line_count: number;
  readonly truncated: boolean;
  readonly size: number;
}

/** What travels in place of a content: at most 2 KB, made for its kind, neutralised. The same for the same content. */
export function makePreview(kind: PreviewKind, content: Content): PreviewText {
  const { size, lineCount, isText, start } = content;
  if (kind === 'binary' || !isText) {
    const text = `${binaryKind(start)}, ${String(size).replace(/\B(?=(\d{3})+$)/g, ',')} bytes`;
    return { text, line_count: 0, truncated: size > 0, size };
  }
  const seen = new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole(start, size));
  const { text, partial } = inWords(kind, seen, size);
  // Neutralising may make it longer or shorter; the cut comes last, from a little more than can be shown.
  const shown = cutAtLine(neutralise(text.slice(0, 3 * PREVIEW_BYTES)), PREVIEW_BYTES);
  const truncated = partial || shown.cut || text.length > 3 * PREVIEW_BYTES || start.length < size;
  return { text: shown.text, line_count: lineCount, truncated, size };
}

function inWords(kind: PreviewKind, text: string, size: number): { text: string; partial: boolean } {
  const isWhole = size <= PREVIEW_LOOK_BYTES;
  if (kind === 'html') return { text: htmlText(text), partial: true };
  if (kind === 'email') return { text: emailText(text), partial: true };
  if (kind === 'json' && size > PREVIEW_BYTES && isWhole) {
    const shape = shapeOf(text);
    if (shape !== null) return { text: shape, partial: true };
  }
  return { text, partial: false };
}

function shapeOf(text: string): string | null {
  try {
    return jsonShape(JSON.parse(text) as Json);
  } catch {
    return null;
  }
}

/** Without a character that was cut in two at the end. */
function whole(start: Uint8Array, size: number): Uint8Array {
  if (start.length === size) return start;
  let end = start.length;
  for (let back = 1; back <= 4 && back <= start.length; back++) {
    const byte = start[start.length - back]!;
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      end = start.length - back;
      break;
    }
  }
  return start.subarray(0, end);
}
