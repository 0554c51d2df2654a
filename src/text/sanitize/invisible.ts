/**
 * Takes out what is not seen but read: control characters, terminal escapes, directional overrides, tag characters,
 * variation selectors, zero-width and other invisible characters. Those that a script or an emoji needs stay where it
 * needs them. Fillers that look like nothing become a blank, odd line ends a line feed, half a surrogate pair U+FFFD.
 */
export function stripInvisible(text: string): string {
  if (!/[^\t\n -~]/.test(text)) return text;
  return text.replace(TERMINAL_ESCAPES, '').replace(FLAG_OR_UNSEEN, (found, index: number, whole: string) => {
    if (found === '\t' || found === '\n' || found.startsWith(BLACK_FLAG)) return found;
    if (found === '\r') return whole[index + 1] === '\n' ? found : '\n';
    if (BREAKS.test(found)) return '\n';
    if (found.length === 1 && LONE_SURROGATE.test(found)) return '\ufffd';
    if (BLANKS.test(found)) return ' ';
    const before = lastOf(whole, index);
    const after = firstOf(whole, index + found.length);
    return isNeeded(found, before, after) ? found : '';
  });
}

const TERMINAL_ESCAPES =
  /(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\u009d]{0,4096}(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]{0,8}[0-~]/g;

/** The flags of England, Scotland and Wales are spelt in tag characters; anywhere else those carry hidden text. */
const BLACK_FLAG = '\u{1f3f4}';
const FLAGS = `${BLACK_FLAG}(?:${['gbeng', 'gbsct', 'gbwls'].map(tagged).join('|')})\u{e007f}`;
const FLAG_OR_UNSEEN = new RegExp(
  `${FLAGS}|[\\p{Cc}\\p{Cf}\\p{Cs}\\p{DI}\\p{Bidi_C}\\u2028\\u2029\\u2800]`,
  'gu',
);
const LONE_SURROGATE = /\p{Cs}/u;
const BREAKS = /[\u000b\f\u0085\u2028\u2029]/;
/** Fillers that look like nothing at all. */
const BLANKS = /[\u115f\u1160\u3164\uffa0\u2800]/;

function tagged(name: string): string {
  return Array.from(name, (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('');
}

const JOINING =
  /[\p{scx=Arab}\p{scx=Syrc}\p{scx=Nkoo}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Mong}\p{scx=Java}\p{scx=Bali}]/u;
const JOINING_LETTER = /[\p{L}\p{M}]/u;
const SPACELESS = /[\p{Script=Thai}\p{Script=Khmr}\p{Script=Laoo}\p{Script=Mymr}\p{Script=Tibt}]/u;
const RIGHT_TO_LEFT = /[\p{scx=Arab}\p{scx=Hebr}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}]/u;
const PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f/u;
const SELECTABLE = /[\p{Emoji}\p{So}\p{Sm}\p{Script=Han}\p{Script=Mong}\p{Script=Mymr}]/u;

function isNeeded(unseen: string, before: string, after: string): boolean {
  const code = unseen.codePointAt(0)!;
  // Arabic number signs, and the end of ayah: they are seen, whatever their category says.
  if ((code >= 0x600 && code <= 0x605) || code === 0x6dd || code === 0x70f || code === 0x8e2) return true;
  switch (code) {
    case 0x200c:
      return joins(before) && joins(after);
    case 0x200d:
      return joins(before) || (PICTURE.test(before) && PICTURE.test(after));
    case 0x200b:
      return SPACELESS.test(before) && SPACELESS.test(after);
    case 0x200e:
    case 0x200f:
    case 0x61c:
      return RIGHT_TO_LEFT.test(before) || RIGHT_TO_LEFT.test(after);
    case 0x34f:
      return /\p{M}/u.test(before) || /\p{M}/u.test(after);
  }
  if (code >= 0xfe00 && code <= 0xfe0f) return SELECTABLE.test(before);
  if (code >= 0xe0100 && code <= 0xe01ef) return /\p{Script=Han}/u.test(before);
  if (code >= 0x180b && code <= 0x180f) return /\p{Script=Mong}/u.test(before);
  return code === 0x17b4 || code === 0x17b5 ? /\p{Script=Khmr}/u.test(before) : false;
}

function joins(char: string): boolean {
  return JOINING.test(char) && JOINING_LETTER.test(char);
}

function lastOf(text: string, end: number): string {
  if (end === 0) return '';
  const low = text.charCodeAt(end - 1);
  return low >= 0xdc00 && low <= 0xdfff && end > 1 ? text.slice(end - 2, end) : text[end - 1]!;
}

function firstOf(text: string, start: number): string {
  const code = text.codePointAt(start);
  return code === undefined ? '' : String.fromCodePoint(code);
}
