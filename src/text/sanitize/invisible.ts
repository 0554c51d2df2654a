/**
 * Takes out what is not seen but read: control characters, terminal escapes, directional overrides, tag characters,
 * variation selectors, zero-width and other invisible characters. Those that a script or an emoji needs stay where it
 * needs them. Fillers that look like nothing become a blank, odd line ends a line feed, half a surrogate pair U+FFFD.
 */
export function stripInvisible(text: string): string {
  if (!/[^\t\n -~]/.test(text)) return text;
  return text.replace(TERMINAL_ESCAPES, '').replace(flagOrUnseen(), (found, index: number, whole: string) => {
    if (found === '\t' || found === '\n' || found.startsWith(BLACK_FLAG)) return found;
    if (found === '\r') return whole[index + 1] === '\n' ? found : '\n';
    if (BREAKS.test(found)) return '\n';
    if (found.length === 1 && LONE_SURROGATE.test(found)) return '\ufffd';
    if (BLANKS.test(found)) return ' ';
    const isNeeded = NEEDED.find(([unseen]) => unseen.test(found))?.[1];
    const before = [...whole.slice(Math.max(0, index - 2), index)].at(-1) ?? '';
    const [after = ''] = whole.slice(index + found.length, index + found.length + 2);
    return isNeeded?.(before, after) ? found : '';
  });
}

const TERMINAL_ESCAPES =
  /(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\u009d]{0,4096}(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]{0,8}[0-~]/g;

/** The flags of England, Scotland and Wales are spelt in tag characters; anywhere else those carry hidden text. */
const BLACK_FLAG = '\u{1f3f4}';
const FLAGS = ['gbeng', 'gbsct', 'gbwls'];
const UNSEEN = '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{DI}\\p{Bidi_C}\\u2028\\u2029\\u2800]';
let made: RegExp | undefined;

/** Made when a text needs it, as those below: making them all takes longer than a short command. */
function flagOrUnseen(): RegExp {
  made ??= new RegExp(`${BLACK_FLAG}(?:${FLAGS.map(tagged).join('|')})\u{e007f}|${UNSEEN}`, 'gu');
  return made;
}

const LONE_SURROGATE = /\p{Cs}/u;
const BREAKS = /[\u000b\f\u0085\u2028\u2029]/;
/** Fillers that look like nothing at all. */
const BLANKS = /[\u115f\u1160\u3164\uffa0\u2800]/;

function tagged(name: string): string {
  return Array.from(name, (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('');
}

const isJoining = (char: string) =>
  /[\p{scx=Arab}\p{scx=Syrc}\p{scx=Nkoo}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Mong}\p{scx=Java}\p{scx=Bali}]/u.test(
    char,
  );
const isSpaceless = (char: string) =>
  /[\p{Script=Thai}\p{Script=Khmr}\p{Script=Laoo}\p{Script=Mymr}\p{Script=Tibt}]/u.test(char);
const isRightToLeft = (char: string) =>
  /[\p{scx=Arab}\p{scx=Hebr}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}]/u.test(char);
const isPicture = (char: string) => /[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f/u.test(char);
const isSelectable = (char: string) =>
  /[\p{Emoji}\p{So}\p{Sm}\p{Script=Han}\p{Script=Mong}\p{Script=Mymr}]/u.test(char);

/** Where something unseen is needed, by the characters before and after it; what is not listed never is. */
const NEEDED: readonly (readonly [unseen: RegExp, isNeeded: (before: string, after: string) => boolean])[] = [
  // Arabic number signs, and the end of ayah: they are seen, whatever their category says.
  [/[\u0600-\u0605\u06dd\u070f\u08e2]/, () => true],
  [/\u200c/, (before, after) => joins(before) && joins(after)],
  [/\u200d/, (before, after) => joins(before) || (isPicture(before) && isPicture(after))],
  [/\u200b/, (before, after) => isSpaceless(before) && isSpaceless(after)],
  [/[\u200e\u200f\u061c]/, (before, after) => isRightToLeft(before) || isRightToLeft(after)],
  [/\u034f/, (before, after) => /\p{M}/u.test(before) || /\p{M}/u.test(after)],
  [/[\ufe00-\ufe0f]/, (before) => isSelectable(before)],
  [/[\u{e0100}-\u{e01ef}]/u, (before) => /\p{Script=Han}/u.test(before)],
  [/[\u180b-\u180f]/, (before) => /\p{Script=Mong}/u.test(before)],
  [/[\u17b4\u17b5]/, (before) => /\p{Script=Khmr}/u.test(before)],
];

function joins(char: string): boolean {
  return isJoining(char) && /[\p{L}\p{M}]/u.test(char);
}
