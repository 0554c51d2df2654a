/** Small replacements for packages that the Markdown renderer imports. The bundle contains these instead. */

/** `punycode.js`: the browser encodes host names itself. */
export default {
  toASCII: (host: string) => host,
  toUnicode: (host: string) => host,
};

// `uc.micro`: browsers support these character classes.
export const Any = /[\s\S]/u;
export const Cc = /\p{Cc}/u;
export const Cf = /\p{Cf}/u;
export const P = /\p{P}/u;
export const S = /\p{S}/u;
export const Z = /\p{Z}/u;

/** `linkify-it`: never called, because addresses that are not marked as links stay text. */
export class LinkifyIt {
  test(): boolean {
    return false;
  }

  match(): null {
    return null;
  }
}

/**
 * `entities`: the original has a table of 2 231 names, which is as large as the whole Markdown renderer.
 * This replacement decodes numeric and common entities. Other entities stay as written.
 */
const NAMES: { readonly [name: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  laquo: '«',
  raquo: '»',
  ldquo: '“',
  rdquo: '”',
  lsquo: '‘',
  rsquo: '’',
  bull: '•',
  middot: '·',
  times: '×',
  rarr: '→',
  larr: '←',
  deg: '°',
  euro: '€',
  sect: '§',
};

export function decodeHTML(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return Object.hasOwn(NAMES, name) ? NAMES[name]! : whole;
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const valid = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    return valid ? String.fromCodePoint(point) : '\ufffd';
  });
}

export const decodeHTMLStrict = decodeHTML;
