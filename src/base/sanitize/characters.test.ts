import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasUncommon, isLetter, isWordChar, withoutMarks } from './characters.ts';
import { LANGUAGES } from './languages.ts';
import { foldWord } from './reading.ts';

const all = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
const pictures = Array.from({ length: 0x500 }, (_, i) => String.fromCodePoint(0x1f300 + i));
const wrong = (holds: (char: string) => boolean) =>
  all.filter((char) => !holds(char)).map((char) => char.charCodeAt(0).toString(16));

test('letters and digits are what Unicode says', () => {
  assert.deepEqual(
    wrong((char) => char < '\u0080' || isWordChar(char) === /^[\p{L}\p{N}]/u.test(char)),
    [],
  );
  assert.deepEqual(
    wrong((char) => isLetter(char) === /\p{L}/u.test(char)),
    [],
  );
  assert.ok(pictures.every((char) => !/[\p{L}\p{N}]/u.test(char) && !isWordChar(char) && !isLetter(char)));
});

test('no common character is one that is not seen', () => {
  const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{DI}\p{Bidi_C}\u2028\u2029\u2800]/u;
  assert.deepEqual(
    wrong((char) => char === '\t' || char === '\n' || hasUncommon(char) || !unseen.test(char)),
    [],
  );
  assert.ok(
    hasUncommon('\u{e0041}') && hasUncommon('\ud83d') && hasUncommon('\ud83dx') && hasUncommon('\udc00'),
  );
  const signs = Array.from({ length: 0xc00 }, (_, i) => String.fromCodePoint(0x1f000 + i));
  assert.deepEqual(
    signs.filter((sign) => hasUncommon(sign) || unseen.test(sign)),
    [],
  );
});

test('common characters lose the same marks as all others', () => {
  const same = (char: string) => {
    const decomposed = char.normalize('NFKD');
    const bare = decomposed.replace(/[\p{M}\p{DI}\p{Cc}\p{Cf}]/gu, '');
    return char === '\t' || char === '\n' || withoutMarks(decomposed, char) === bare;
  };
  assert.deepEqual(wrong(same), []);
  for (let code = 0x1f000; code < 0x1fc00; code++)
    assert.ok(same(String.fromCodePoint(code)), code.toString(16));
});

test('a language of uncommon characters is still one when its words are folded', () => {
  for (const { name, verbs } of LANGUAGES) {
    const words = verbs.split(/\s+/);
    if (!words.every(hasUncommon)) continue;
    for (const word of words) assert.ok(hasUncommon(foldWord(word.replaceAll('*', ''))), `${name}: ${word}`);
  }
});
