import { readOutcome } from '../../client/bridge/outcome.ts';

/** Functions on a screen that do not depend on the program that draws it. */

/** Long enough to contain the task's id, with which every prompt ends, so the mark is unique. */
const MARK_CHARS = 40;
/** More than the last line of a prompt, which agents often repeat. */
const SURE_CHARS = 120;

/** Removes white space, frames and prompt signs, because programs break lines anywhere. */
export function squeezed(screen: string): string {
  return screen.replace(/[\s│┃║|╭╮╰╯─━═>❯›]+/gu, '');
}

/** Returns the end of a text, by which it is found on a screen. */
export function markOf(text: string): string {
  return squeezed(text).slice(-MARK_CHARS);
}

export function count(screen: string, mark: string): number {
  return mark === '' ? 0 : squeezed(screen).split(mark).length - 1;
}

/** The visible part of a terminal, and its whole history. */
export interface ScreenText {
  readonly view: string;
  readonly all: string;
}

/**
 * Returns the output of the program since the text was pasted. If the text is visible, the output starts after the
 * first new occurrence of the text, because agents repeat their input later. If the text has scrolled out, the output
 * starts after the last occurrence, because repainting leaves several copies. If that output has no outcome block, an
 * earlier start is tried.
 */
export function outputBehind(now: ScreenText, text: string, before: ScreenText): string {
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

/** Returns the text after one occurrence of the mark, which `choose` selects by their ends; null if there is none. */
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

/** Skips occurrences that were there before. If nothing but the text is between two of them, the program repeated it. */
function newest(screen: string, told: string, ends: readonly number[], old: number): number {
  const whole = squeezed(screen);
  let sight = Math.min(old, ends.length - 1);
  while (sight + 1 < ends.length && told.endsWith(whole.slice(ends[sight]!, ends[sight + 1]!))) sight++;
  return sight;
}

/** If the text has scrolled out: returns what was not there before. */
function withoutBeginning(screen: string, before: string): string {
  const old = before.trimEnd().split('\n');
  const lines = screen.split('\n');
  let same = 0;
  while (same < old.length && same < lines.length && old[same] === lines[same]) same++;
  return lines.slice(same).join('\n');
}
