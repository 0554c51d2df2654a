/** What can be said of a screen without knowing the program that draws it. */

/** Holds the id of the task, with which every prompt ends: so it is there only once. */
const MARK_CHARS = 40;

/** Without blanks, frames and prompts: lines are broken wherever the program likes. */
export function squeezed(screen: string): string {
  return screen.replace(/[\s│┃║|╭╮╰╯─━═>❯›]+/gu, '');
}

/** The end of a text, by which it is known again on a screen. */
export function markOf(text: string): string {
  return squeezed(text).slice(-MARK_CHARS);
}

export function count(screen: string, mark: string): number {
  return mark === '' ? 0 : squeezed(screen).split(mark).length - 1;
}

/**
 * What the program has shown since the text was put in: all behind the first sight of it that was not there before. Behind a later
 * one there would be too little, because agents repeat the last line of what they were told; only where nothing but the text
 * stands between two of them, it is the program that shows it once more.
 */
export function outputBehind(screen: string, text: string, before: string): string {
  const mark = markOf(text);
  const lines = screen.split('\n');
  const whole = squeezed(screen);
  const ends: number[] = [];
  for (let at = whole.indexOf(mark); mark !== '' && at >= 0; at = whole.indexOf(mark, at + mark.length))
    ends.push(at + mark.length);
  if (ends.length === 0) return withoutBeginning(screen, before).trim();
  const told = squeezed(text);
  let sight = Math.min(count(before, mark), ends.length - 1);
  while (sight + 1 < ends.length && told.endsWith(whole.slice(ends[sight]!, ends[sight + 1]!))) sight++;
  let [line, seen] = [0, 0];
  while (seen < ends[sight]!) seen += squeezed(lines[line++]!).length;
  return lines.slice(line).join('\n').trim();
}

/** Where the text is no longer in view: what was not there before. */
function withoutBeginning(screen: string, before: string): string {
  const old = before.trimEnd().split('\n');
  const lines = screen.split('\n');
  let same = 0;
  while (same < old.length && same < lines.length && old[same] === lines[same]) same++;
  return lines.slice(same).join('\n');
}
