/**
 * What kind of character one is. The classes of Unicode take milliseconds to prepare, which is long for a hook, and most
 * texts are of common characters: for those, ranges tell the same.
 */

/**
 * Characters, by their codes, that are seen, stand for themselves, and decompose into no other marks than `COMBINING`:
 * Latin, Greek, Cyrillic, punctuation, signs, kana, Han, Hangul, full-width forms.
 */
const COMMON =
  '\\u00a0-\\u00ac\\u00ae-\\u024f\\u0370-\\u0377\\u037a-\\u037f\\u0384-\\u0482\\u048a-\\u052f\\u2010-\\u2027\\u2030-\\u205e\\u20a0-\\u20c0\\u2190-\\u23ff\\u2500-\\u2775\\u3001-\\u3020\\u3041-\\u3096\\u309b-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3\\uff01-\\uff5e';
const UNCOMMON = new RegExp(`[^\\t\\n -~${COMMON}]`);
const COMBINING = /[\u0300-\u036f\u3099\u309a]/g;

/** U+1F000 to U+1FBFF: emoji and other signs, all of them seen. */
const PICTURES = /[\ud83c-\ud83e][\udc00-\udfff]/g;

/** Whether there is anything beyond ASCII, the common characters and emoji in it. */
export function hasUncommon(text: string): boolean {
  return UNCOMMON.test(text) && UNCOMMON.test(text.replace(PICTURES, ''));
}

/** A decomposed text without the marks that stand on its letters, and without what is not seen. */
export function withoutMarks(decomposed: string, from: string): string {
  if (!hasUncommon(from)) return decomposed.replace(COMBINING, '');
  return decomposed.replace(/[\p{M}\p{DI}\p{Cc}\p{Cf}]/gu, '');
}

/** A letter or a digit, of whichever script. */
export function isWordChar(char: string): boolean {
  const code = char.charCodeAt(0);
  if (isLatinOrCyrillic(code) || isHanOrHangul(code)) return true;
  if (isSign(char, code)) return false;
  return /^[\p{L}\p{N}]/u.test(char);
}

export function isLetter(char: string): boolean {
  const code = char.charCodeAt(0);
  if (code < 0x80) return (code | 32) >= 97 && (code | 32) <= 122;
  if (isLatinOrCyrillic(code) || isHanOrHangul(code)) return true;
  return isSign(char, code) ? false : /\p{L}/u.test(char);
}

function isLatinOrCyrillic(code: number): boolean {
  if (code >= 0xc0 && code <= 0x24f) return code !== 0xd7 && code !== 0xf7;
  return (code >= 0x400 && code <= 0x481) || (code >= 0x48a && code <= 0x52f);
}

function isHanOrHangul(code: number): boolean {
  return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7a3);
}

/** Dashes, quotes, arrows, and most emoji, U+1F300 to U+1F7FF: neither letter nor digit. */
function isSign(char: string, code: number): boolean {
  if ((code >= 0x2010 && code <= 0x205e) || (code >= 0x2190 && code <= 0x23ff)) return true;
  return code === 0xa0 || code === 0xd83d || (code === 0xd83c && char.charCodeAt(1) >= 0xdf00);
}
