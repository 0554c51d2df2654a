/** C0 and C1 control characters except tab and line ends. */
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/** Characters that change direction, join text or are invisible. */
const HIDDEN =
  /[\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** Returns foreign text in which invisible characters and direction marks are replaced by visible symbols. */
export function revealHidden(text: string): string {
  return text.replace(CONTROLS, controlSymbol).replace(HIDDEN, (char) => `‹U+${hexCode(char)}›`);
}

/** Returns Unicode's symbol for a control character, such as `␛` for ESC, or its code point if there is no symbol. */
function controlSymbol(char: string): string {
  const point = char.charCodeAt(0);
  if (point < 0x20) return String.fromCharCode(0x2400 + point);
  return point === 0x7f ? '␡' : `‹U+${hexCode(char)}›`;
}

function hexCode(char: string): string {
  return char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
}
