import { fromBase64 } from '../../base/base64.ts';
import type { CONTENT_KINDS } from '../../base/enums.ts';
import { count } from '../../base/format.ts';
import { PREVIEW_BYTES } from '../../base/limits.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import { excerpt } from '../excerpt/excerpt.ts';
import { neutralise } from '../sanitize/neutralise.ts';
import { binaryKind } from './binary-kind.ts';
import { cutNear } from './cut.ts';

export type PreviewKind = (typeof CONTENT_KINDS)[number];

/** Content of an artifact as a preview needs it, collected in one read. */
export interface Content {
  /** Beginning of the content, long enough to make a preview. */
  readonly start: Uint8Array;
  readonly size: number;
  readonly lineCount: number;
  /** True if the whole content is valid UTF-8. */
  readonly isText: boolean;
}

/** A short excerpt of an artifact, stored in its record. */
export interface Preview {
  /** Excerpt for models, without chat markup and known prompt-injection phrases. */
  readonly text: string;
  readonly line_count: number;
  readonly truncated: boolean;
  /** Size of the content in bytes. */
  readonly size: number;
}

/**
 * Returns the preview of an artifact's content: at most 2 KiB, neutralised, and made for its kind. Equal kind and
 * content always give an equal preview.
 */
export async function makePreview(kind: PreviewKind, content: Content): Promise<Preview> {
  const { size, lineCount, isText, start } = content;
  if (kind === 'binary' || !isText) {
    const text = `${binaryKind(start)}, ${count(size)} bytes`;
    return { text, line_count: 0, truncated: size > 0, size };
  }
  const { text, partial } = await previewText(kind, content);
  // Neutralising may shorten the text. So neutralise three times the preview size and cut afterwards.
  const preview = cutNear(neutralise(text.slice(0, 3 * PREVIEW_BYTES)), PREVIEW_BYTES);
  const truncated = partial || preview.cut || text.length > 3 * PREVIEW_BYTES || start.length < size;
  return { text: preview.text, line_count: lineCount, truncated, size };
}

/** Returns the text to show: the beginning of prose, or an excerpt of program output and data. */
async function previewText(kind: PreviewKind, { start, size, lineCount }: Content) {
  // Decode as a stream, so that an incomplete character at the end is dropped.
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(start, { stream: true });
  if (kind === 'html') return { text: htmlText(text), partial: true };
  if (kind === 'email') return { text: emailText(text), partial: true };
  if (kind === 'markdown' || size <= PREVIEW_BYTES) return { text, partial: false };
  const found = await excerpt([start], { budget: PREVIEW_BYTES - MARK_BYTES, counter: byteCounter });
  if (found.kind === 'text' && kind !== 'tool_output') return { text, partial: false };
  const unread = lineCount > found.lines ? `\n…${found.lines + 1}-${lineCount}` : '';
  return { text: found.text + unread, partial: true };
}

/** Bytes reserved for the mark that stands for lines that were not read. */
const MARK_BYTES = 32;

/** Measures an excerpt in bytes, because the size of a preview is limited in bytes. */
const byteCounter: TokenCounter = {
  async count(text) {
    return { tokens: utf8Bytes(text), tokenizer: 'bytes', estimated: false };
  },
};

/**
 * Returns the visible text of an HTML page, without scripts, styles, comments and hidden parts. Each block starts a
 * new line.
 */
function htmlText(html: string): string {
  const title = /<title[^>]*>([\s\S]{0,500}?)<\/title\s*>/i.exec(html)?.[1]?.trim();
  let text = '';
  let at = 0;
  /** Name of the hidden element around the current position, and the nesting depth in it. */
  let hidden: { name: string; depth: number } | null = null;
  for (const tag of html.matchAll(TOKENS)) {
    if (!hidden) text += html.slice(at, tag.index);
    at = tag.index + tag[0].length;
    const name = tag[2]?.toLowerCase();
    if (!name) continue;
    const closing = tag[1] === '/';
    if (hidden) {
      if (name === hidden.name && !tag[0].endsWith('/>')) hidden.depth += closing ? -1 : 1;
      if (hidden.depth === 0) hidden = null;
      continue;
    }
    const opens = !closing && !VOID.has(name) && !tag[0].endsWith('/>');
    if (opens && (HIDDEN_ELEMENTS.has(name) || isHidden(tag[3] ?? ''))) hidden = { name, depth: 1 };
    else if (name === 'li' && !closing) text += '\n- ';
    else if (name === 'td' || name === 'th') text += '\t';
    else if (BLOCKS.has(name)) text += '\n';
  }
  if (!hidden) text += html.slice(at);
  const body = decodeEntities(text)
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return title ? `${decodeEntities(title).replace(/\s+/g, ' ')}\n\n${body}` : body;
}

// Matches one tag, comment or declaration in HTML. A tag may not contain another `<`, so the search takes linear time
// even if many tags are not closed.
const TOKENS =
  /<!--[\s\S]*?(?:-->|$)|<!\[CDATA\[|\]\]>|<![^<>]*>|<\?[^<>]*>|<(\/?)([a-zA-Z][a-zA-Z0-9:-]*)((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>/g;

const HIDDEN_ELEMENTS = new Set(
  'script style template noscript head svg math object iframe canvas'.split(' '),
);
const VOID = new Set('area base br col embed hr img input link meta source track wbr'.split(' '));
const BLOCKS = new Set(
  'address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table tbody thead tr ul'.split(
    ' ',
  ),
);

/** Returns whether the attributes hide an element from human readers. */
function isHidden(attributes: string): boolean {
  if (/(?:^|\s)hidden(?:\s|=|\/|$)/i.test(attributes)) return true;
  if (/aria-hidden\s*=\s*["']?true/i.test(attributes)) return true;
  const style = /style\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(attributes);
  const rules = (style?.[1] ?? style?.[2] ?? style?.[3] ?? '').replace(/\s/g, '').toLowerCase();
  return /display:none|visibility:hidden|opacity:0(?:\.0+)?(?:;|$)|font-size:0(?:px|em|rem|%|pt)?(?:;|$)|text-indent:-\d{3,}|(?:left|top):-\d{3,}/.test(
    rules,
  );
}

const NAMED: { readonly [name: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  euro: '€',
  middot: '·',
  times: '×',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
};

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g,
    (whole, dec, hex, name) => {
      if (name) return NAMED[name.toLowerCase()] ?? whole;
      const code = dec ? Number(dec) : Number.parseInt(hex, 16);
      return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
        ? String.fromCodePoint(code)
        : '';
    },
  );
}

/** Returns sender, recipients, date, subject and text of an email. */
function emailText(raw: string): string {
  const [head, body] = splitHead(raw) ?? [raw, ''];
  const headers = readHeaders(head);
  if (headers.size === 0) return raw;
  const excerpt = ['from', 'to', 'cc', 'date', 'subject']
    .filter((name) => headers.has(name))
    .map((name) => `${name[0]!.toUpperCase()}${name.slice(1)}: ${decodeWords(headers.get(name)!)}`);
  return `${excerpt.join('\n')}\n\n${bodyText(headers, body, 3).trim()}`;
}

/** Splits a message at the first empty line. Returns null if there is none. */
function splitHead(text: string): [head: string, body: string] | null {
  const gap = /\r?\n\r?\n/.exec(text);
  return gap && [text.slice(0, gap.index), text.slice(gap.index + gap[0].length)];
}

type Headers = Map<string, string>;

function readHeaders(head: string): Headers {
  const headers: Headers = new Map();
  for (const line of head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const match = /^([\w-]+):\s*(.*)$/.exec(line);
    if (match) headers.set(match[1]!.toLowerCase(), match[2]!);
  }
  return headers;
}

/**
 * Returns the text of an email body. From a multipart body, uses the plain-text part, otherwise the first HTML or
 * multipart part.
 */
function bodyText(headers: Headers, body: string, depth: number): string {
  const type = headers.get('content-type') ?? 'text/plain';
  const boundary = /boundary="?([^";]+)"?/i.exec(type)?.[1];
  if (/^multipart\//i.test(type) && boundary && depth > 0) {
    const parts = body
      .split(`--${boundary}`)
      .slice(1)
      .filter((part) => !part.startsWith('--'))
      .map((part) => {
        const [head, content] = splitHead(part) ?? ['', part];
        return { inner: readHeaders(head), content };
      });
    const kind = (part: (typeof parts)[number]) => part.inner.get('content-type') ?? 'text/plain';
    const best =
      parts.find((part) => /^text\/plain/i.test(kind(part))) ??
      parts.find((part) => /^(?:text\/html|multipart\/)/i.test(kind(part)));
    return best
      ? bodyText(best.inner, best.content, depth - 1)
      : `(${parts.length} parts, none of them text)`;
  }
  const text = decodeBody(body, headers.get('content-transfer-encoding') ?? '');
  return /^text\/html/i.test(type) ? htmlText(text) : text;
}

function decodeBody(body: string, encoding: string): string {
  if (/^quoted-printable/i.test(encoding)) return quotedPrintable(body.replace(/=\r?\n/g, ''));
  if (!/^base64/i.test(encoding)) return body;
  const bytes = fromBase64(body.replace(/\s/g, ''));
  return bytes ? new TextDecoder().decode(bytes) : body;
}

function quotedPrintable(text: string): string {
  return text.replace(/(?:=[0-9A-Fa-f]{2})+/g, (run) => {
    const bytes = Uint8Array.from(run.slice(1).split('='), (hex) => Number.parseInt(hex, 16));
    return new TextDecoder().decode(bytes);
  });
}

/** Decodes header words such as `=?utf-8?q?Gr=C3=BC=C3=9Fe?=`. */
function decodeWords(header: string): string {
  return header.replace(/=\?[\w-]+\?([bqBQ])\?([^?]*)\?=/g, (_, kind: string, text: string) =>
    decodeBody(text.replaceAll('_', ' '), kind.toLowerCase() === 'q' ? 'quoted-printable' : 'base64'),
  );
}
