/** Letters of other scripts, and signs, that pass for a Latin letter at a glance. Lower case; NFKD has been done. */
const LOOK_ALIKES: { readonly [latin: string]: string } = {
  a: 'аαɑ⍺ꭺᗅᴀɐ@',
  b: 'ЬьвβƅʙᏏᗷ',
  c: 'сϲᴄᏟⲥꮯ¢',
  d: 'ԁɗᏧᴅꓓժ',
  e: 'еєҽεᴇǝɛꭼ€',
  f: 'ғꜰϝƒք',
  g: 'ɡցɢԍ',
  h: 'һհʜнɦ',
  i: 'іιɪꙇӏⅼıǃ¡',
  j: 'јϳᴊյ',
  k: 'кκᴋⲕ',
  l: 'ʟⳑӀ',
  m: 'мᴍɱ',
  n: 'ոпηɴռ',
  o: 'оοօσᴏⲟ๐০०',
  p: 'рρᴘⲣ',
  q: 'ԛգǫզ',
  r: 'гʀᴦɾꭇ',
  s: 'ѕꜱʂꮪƽ§',
  t: 'тτᴛ†',
  u: 'υսᴜʋμц',
  v: 'ѵνᴠⱱ',
  w: 'ԝωᴡѡшɯ',
  x: 'хχ×ⅹ',
  y: 'уγʏүყ',
  z: 'ᴢʐᏃ',
};

/** Digits and signs that stand in for letters, where they touch one. */
const LEET: { readonly [sign: string]: string } = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  $: 's',
  '!': 'i',
  '|': 'i',
};

/** Latin letters that NFKD leaves whole. */
const WHOLE: { readonly [letter: string]: string } = {
  ł: 'l',
  đ: 'd',
  ø: 'o',
  ı: 'i',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
};

const latin = new Map<string, string>();
for (const [letter, others] of Object.entries(LOOK_ALIKES))
  for (const other of others) latin.set(other, letter);

export function looksLike(char: string): string | undefined {
  const known = latin.get(char);
  if (known) return known;
  const code = char.codePointAt(0)!;
  // Letters in black circles and squares, and the regional indicators that flags are made of.
  if (code >= 0x1f150 && code <= 0x1f169) return letter(code - 0x1f150);
  if (code >= 0x1f170 && code <= 0x1f189) return letter(code - 0x1f170);
  if (code >= 0x1f1e6 && code <= 0x1f1ff) return letter(code - 0x1f1e6);
  return undefined;
}

export function leetFor(char: string): string | undefined {
  return Object.hasOwn(LEET, char) ? LEET[char] : undefined;
}

export function wholeLetter(char: string): string | undefined {
  return Object.hasOwn(WHOLE, char) ? WHOLE[char] : undefined;
}

function letter(index: number): string {
  return String.fromCharCode(97 + index);
}
