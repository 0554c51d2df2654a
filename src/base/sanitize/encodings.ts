import { fromBase64, fromBase64Url } from '../base64.ts';
import type { Pieces } from './reading.ts';

/** A run of a text that says something in an encoding. */
export interface EncodedRun {
  readonly start: number;
  readonly end: number;
  readonly decoded: string;
}

/** Runs that decode to text. What they say is for others to judge. */
export function* encodedRuns(text: string): Generator<EncodedRun> {
  for (const { pattern, decode } of CODECS) {
    for (const match of text.matchAll(pattern)) {
      const decoded = decode(match[0]);
      if (decoded !== null && isProse(decoded)) {
        yield { start: match.index, end: match.index + match[0].length, decoded };
      }
    }
  }
}

/** The text with percent, backslash and entity escapes read as what they stand for; null where there are none. */
export function unescaped(text: string): Pieces | null {
  if (!ESCAPE_HINT.test(text)) return null;
  const chars: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  const plainUpTo = (end: number) => {
    for (const char of text.slice(at, end)) {
      chars.push(char);
      starts.push(at);
      at += char.length;
      ends.push(at);
    }
  };
  for (const match of text.matchAll(ESCAPES)) {
    const said = escapedChar(match[0]);
    if (said === null) continue;
    plainUpTo(match.index);
    at = match.index + match[0].length;
    for (const char of said) {
      chars.push(char);
      starts.push(match.index);
      ends.push(at);
    }
  }
  plainUpTo(text.length);
  return { chars, starts, ends };
}

const ESCAPE_HINT = /%[0-9a-f]{2}|\\u|\\x|\\[0-7]{3}|&#|&[a-z]{2,8};|=[0-9A-F]{2}|U\+/i;
const ESCAPES =
  /(?:%[0-9a-f]{2})+|\\u\{[0-9a-f]{1,6}\}|(?:\\u[0-9a-f]{4})+|(?:\\x[0-9a-f]{2})+|(?:\\[0-7]{3})+|&#\d{1,7};?|&#x[0-9a-f]{1,6};?|&(?:lt|gt|amp|quot|apos|nbsp|colon|period|excl|comma|lowbar|hyphen|Tab|NewLine|zwj|zwnj|shy);|(?:=[0-9A-F]{2})+|U\+[0-9A-F]{4,6}\s?/gi;

const ENTITIES: { readonly [name: string]: string } = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  colon: ':',
  period: '.',
  excl: '!',
  comma: ',',
  lowbar: '_',
  hyphen: '-',
  tab: ' ',
  newline: '\n',
  zwj: '',
  zwnj: '',
  shy: '',
};

function escapedChar(spelt: string): string | null {
  if (spelt[0] === '%' || spelt[0] === '=')
    return utf8(spelt.match(/[0-9a-f]{2}/gi)!.map((h) => Number.parseInt(h, 16)));
  if (/^\\x/i.test(spelt)) return utf8(spelt.match(/[0-9a-f]{2}/gi)!.map((h) => Number.parseInt(h, 16)));
  if (/^\\[0-7]/.test(spelt)) return utf8(spelt.match(/[0-7]{3}/g)!.map((o) => Number.parseInt(o, 8) & 255));
  if (/^\\u\{/i.test(spelt)) return point(Number.parseInt(spelt.slice(3), 16));
  if (/^\\u/i.test(spelt)) {
    return spelt
      .match(/[0-9a-f]{4}/gi)!
      .map((h) => String.fromCharCode(Number.parseInt(h, 16)))
      .join('');
  }
  if (/^U\+/i.test(spelt)) return point(Number.parseInt(spelt.slice(2), 16));
  if (/^&#x/i.test(spelt)) return point(Number.parseInt(spelt.slice(3), 16));
  if (spelt.startsWith('&#')) return point(Number.parseInt(spelt.slice(2), 10));
  return ENTITIES[spelt.slice(1, -1).toLowerCase()] ?? null;
}

function point(code: number): string | null {
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
    ? String.fromCodePoint(code)
    : null;
}

const CODECS: readonly { readonly pattern: RegExp; readonly decode: (run: string) => string | null }[] = [
  // Lines of a wrapped block belong together.
  {
    pattern: /[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]{16,})*(?:\r?\n[A-Za-z0-9+/_-]{1,80})?={0,2}/g,
    decode: (run) => base64(run.replace(/\s/g, '')),
  },
  { pattern: /[A-Z2-7]{24,}={0,6}/g, decode: base32 },
  {
    pattern: /(?:(?:0x)?[0-9a-f]{2}[\s:,.-]{0,2}){12,}/gi,
    decode: (run) => {
      const digits = run.replace(/0x/gi, '').match(/[0-9a-f]{2}/gi)!;
      return utf8(digits.map((h) => Number.parseInt(h, 16)));
    },
  },
  {
    pattern: /(?:\d{2,3}[\s,;-]{1,2}){9,}\d{2,3}/g,
    decode: (run) => utf8(run.match(/\d{2,3}/g)!.map(Number)),
  },
  {
    pattern: /(?:[01]{8}[\s,]{0,2}){10,}/g,
    decode: (run) => utf8(run.match(/[01]{8}/g)!.map((b) => Number.parseInt(b, 2))),
  },
];

function base64(run: string): string | null {
  const bare = run.replace(/=+$/, '');
  // A run may begin or end with letters that only stand next to it.
  for (const text of [bare, bare.slice(0, bare.length - (bare.length % 4))]) {
    const bytes = fromBase64(text) ?? fromBase64Url(text);
    if (!bytes) continue;
    const wide = bytes.length % 2 === 0 && bytes.every((byte, i) => i % 2 === 0 || byte === 0);
    return wide ? new TextDecoder('utf-16le').decode(bytes) : utf8(bytes);
  }
  return null;
}

function base32(run: string): string | null {
  let held = 0;
  let bits = 0;
  const bytes: number[] = [];
  for (const char of run.replace(/=+$/, '')) {
    held = ((held << 5) | 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char)) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 255);
    }
  }
  return utf8(bytes);
}

function utf8(bytes: ArrayLike<number>): string | null {
  const array = Uint8Array.from(bytes);
  if (array.some((byte, i) => byte !== bytes[i])) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(array);
  } catch {
    return null;
  }
}

/** Mostly letters and blanks: chance hardly ever decodes to that. */
function isProse(text: string): boolean {
  if (text.length < 8) return false;
  const letters = text.match(/[\p{L}\p{M} \n.,!?:;'"<>|_-]/gu)?.length ?? 0;
  return letters / [...text].length > 0.8;
}
