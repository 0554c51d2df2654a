/** Words that decide the shape of a line. Later words are ignored. */
const SHAPE_WORDS = 10;
const SHAPE_CHARS = 240;

/**
 * Returns a hash of a line without its variable parts: numbers, words with digits, paths, quoted texts and values
 * after `=`. Lines with the same shape are similar.
 */
export function shapeOf(text: string): number {
  let hash = 0x811c9dc5;
  const end = Math.min(text.length, SHAPE_CHARS);
  const add = (code: number) => {
    hash = Math.imul(hash ^ code, 0x01000193);
  };
  let words = 0;
  for (let at = 0; at < end && words < SHAPE_WORDS; ) {
    const code = text.charCodeAt(at);
    if (code <= 0x20) {
      at++;
      continue;
    }
    if (code === 0x22 || code === 0x27 || code === 0x60) {
      const close = text.indexOf(text[at]!, at + 1);
      add(code);
      at = close === -1 || close > end ? at + 1 : close + 1;
      continue;
    }
    // One word: letters count unless the word has a digit or a slash.
    const started = hash;
    let variable = code === 0x2f || code === 0x7e;
    let dots = false;
    let slashes = false;
    let to = at;
    for (; to < end; to++) {
      const char = text.charCodeAt(to);
      if (char <= 0x20 || char === 0x22 || char === 0x27 || char === 0x60) break;
      if (char > 0x7f) {
        add(char);
        continue;
      }
      if (char === 0x2e) dots = true;
      if (char === 0x2f || char === 0x5c) slashes = true;
      if ((char >= 0x30 && char <= 0x39) || (dots && slashes)) variable = true;
      else if (!variable) add(char);
      if (char === 0x3d || char === 0x3a || char === 0x2c || char === 0x28 || char === 0x5b) {
        to++;
        break;
      }
    }
    const last = text.charCodeAt(to - 1);
    if (variable && text.charCodeAt(at) <= 0x7f) {
      hash = started;
      add(0x23);
    } else words++;
    at = to;
    // Skip the value after an equals sign.
    if (last === 0x3d) while (at < end && text.charCodeAt(at) > 0x20) at++;
  }
  return hash >>> 0;
}
