import { hasUncommon } from './characters.ts';

/**
 * Takes out what is not seen but read: control characters, terminal escapes, directional overrides, zero-width and
 * other invisible characters. Those that a script or an emoji needs stay where it needs them.
 */
export function stripInvisible(text: string): string {
  if (!hasUncommon(text)) return text;
  const plain = text.replace(TERMINAL_ESCAPES, '');
  const flags = [...plain.matchAll(FLAGS)].map((flag) => [flag.index, flag.index + flag[0].length] as const);
  return plain.replace(notSeen(), (unseen, index: number, whole: string) => {
    if (unseen === '\t' || unseen === '\n') return unseen;
    if (unseen === '\r') return whole[index + 1] === '\n' ? unseen : '\n';
    if (BREAKS.test(unseen)) return '\n';
    if (unseen.length === 1 && lone().test(unseen)) return '\ufffd';
    if (BLANKS.test(unseen)) return ' ';
    if (flags.some(([start, end]) => index >= start && index < end)) return unseen;
    const before = lastOf(whole, index);
    const after = firstOf(whole, index + unseen.length);
    return isNeeded(unseen, before, after) ? unseen : '';
  });
}

const TERMINAL_ESCAPES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]{0,4096}(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-~]/g;

/* Each is prepared when it is first needed: that takes longer than using it. */
const notSeen = () => /[\p{Cc}\p{Cf}\p{Cs}\p{DI}\p{Bidi_C}\u2028\u2029\u2800]/gu;
const lone = () => /\p{Cs}/u;
const BREAKS = /[\u000b\f\u0085\u2028\u2029]/;
/** Fillers that look like nothing at all. */
const BLANKS = /[\u115f\u1160\u3164\uffa0\u2800]/;

/** The flags of England, Scotland and Wales are spelt in tag characters; anywhere else those carry hidden text. */
const FLAGS = new RegExp(
  `\u{1f3f4}(?:${['gbeng', 'gbsct', 'gbwls'].map((name) => tagged(name)).join('|')})\u{e007f}`,
  'gu',
);

function tagged(name: string): string {
  return Array.from(name, (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('');
}

const joining = () =>
  /[\p{scx=Arab}\p{scx=Syrc}\p{scx=Nkoo}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Mong}\p{scx=Java}\p{scx=Bali}]/u;
const joiningLetter = () => /[\p{L}\p{M}]/u;
const spaceless = () => /[\p{Script=Thai}\p{Script=Khmr}\p{Script=Laoo}\p{Script=Mymr}\p{Script=Tibt}]/u;
const rightToLeft = () => /[\p{scx=Arab}\p{scx=Hebr}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}]/u;
const picture = () => /[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f/u;
const selectable = () => /[\p{Emoji}\p{So}\p{Sm}\p{Script=Han}\p{Script=Mong}\p{Script=Mymr}]/u;

function isNeeded(unseen: string, before: string, after: string): boolean {
  const code = unseen.codePointAt(0)!;
  // Arabic number signs, and the end of ayah: they are seen, whatever their category says.
  if ((code >= 0x600 && code <= 0x605) || code === 0x6dd || code === 0x70f || code === 0x8e2) return true;
  switch (code) {
    case 0x200c:
      return joins(before) && joins(after);
    case 0x200d:
      return joins(before) || (picture().test(before) && picture().test(after));
    case 0x200b:
      return spaceless().test(before) && spaceless().test(after);
    case 0x200e:
    case 0x200f:
    case 0x61c:
      return rightToLeft().test(before) || rightToLeft().test(after);
    case 0x34f:
      return /\p{M}/u.test(before) || /\p{M}/u.test(after);
  }
  if (code >= 0xfe00 && code <= 0xfe0f) return selectable().test(before);
  if (code >= 0xe0100 && code <= 0xe01ef) return /\p{Script=Han}/u.test(before);
  if (code >= 0x180b && code <= 0x180f) return /\p{Script=Mong}/u.test(before);
  return code === 0x17b4 || code === 0x17b5 ? /\p{Script=Khmr}/u.test(before) : false;
}

function joins(char: string): boolean {
  return joining().test(char) && joiningLetter().test(char);
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
