import { readOutcome } from '../../client/bridge/outcome.ts';

/** What can be said of a screen without knowing the program that draws it. */

/** Holds the id of the task, with which every prompt ends: so it is there only once. */
const MARK_CHARS = 40;
/** More than the last line of a prompt, which agents like to repeat. */
const SURE_CHARS = 120;

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

/** What a terminal shows, and that with everything it has kept of what it showed before. */
export interface Shown {
  readonly view: string;
  readonly all: string;
}

/**
 * What the program has shown since the text was put in. In view, that is all behind the first sight of the text that was not there
 * before: behind a later one there would be too little, because agents repeat what they were told. Where the text is out of
 * view, it is all behind the last sight: a program that paints anew leaves many. An outcome counts wherever it stands.
 */
export function outputBehind(now: Shown, text: string, before: Shown): string {
  const told = squeezed(text);
  const [much, little] = [told.slice(-SURE_CHARS), markOf(text)];
  const found =
    behindSight(now.view, much, (ends) => newest(now.view, told, ends, count(before.view, much))) ??
    behindSight(now.all, much, (ends) => ends.length - 1) ??
    behindSight(now.all, little, () => 0) ??
    withoutBeginning(now.all, before.all).trim();
  if (readOutcome(found).found) return found;
  const whole = behindSight(now.all, much, (ends) => Math.min(count(before.all, much), ends.length - 1));
  return whole !== null && readOutcome(whole).found ? whole : found;
}

/** What stands behind one sight of the mark, which is chosen among their ends; null where there is none. */
function behindSight(
  screen: string,
  mark: string,
  choose: (ends: readonly number[]) => number,
): string | null {
  const whole = squeezed(screen);
  const ends: number[] = [];
  for (let at = whole.indexOf(mark); mark !== '' && at >= 0; at = whole.indexOf(mark, at + mark.length))
    ends.push(at + mark.length);
  if (ends.length === 0) return null;
  const end = ends[choose(ends)]!;
  const lines = screen.split('\n');
  let [line, seen] = [0, 0];
  while (seen < end) seen += squeezed(lines[line++]!).length;
  return lines.slice(line).join('\n').trim();
}

/** Behind those that were there before; and where nothing but the text stands between two, the program shows it once more. */
function newest(screen: string, told: string, ends: readonly number[], old: number): number {
  const whole = squeezed(screen);
  let sight = Math.min(old, ends.length - 1);
  while (sight + 1 < ends.length && told.endsWith(whole.slice(ends[sight]!, ends[sight + 1]!))) sight++;
  return sight;
}

/** Where the text is no longer in view: what was not there before. */
function withoutBeginning(screen: string, before: string): string {
  const old = before.trimEnd().split('\n');
  const lines = screen.split('\n');
  let same = 0;
  while (same < old.length && same < lines.length && old[same] === lines[same]) same++;
  return lines.slice(same).join('\n');
}
