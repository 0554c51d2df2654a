import { readOutcome } from '../../client/bridge/outcome.ts';

/** Functions that read the screen of any program. */

/**
 * Number of characters at the end of a prompt by which the prompt is found on the screen. The end of a prompt is unique,
 * because it contains the id of the task.
 */
const MARK_CHARS = 40;
/**
 * Number of characters of a longer mark, which is searched for first. Agents often repeat the last line of a
 * prompt, so this mark must be longer than that line.
 */
const SURE_CHARS = 120;

/**
 * Removes white space, frames and prompt signs. Programs break lines at any place, so texts are compared in
 * this form.
 */
export function squeezed(screen: string): string {
  return screen.replace(/[\s│┃║|╭╮╰╯─━═>❯›]+/gu, '');
}

/** Returns the mark of a text: its end, by which the text is found on a screen. */
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
 * Returns the output of the program since the text was pasted. If the pasted text is still visible, the
 * output starts after its first new occurrence: later ones may be repetitions by the agent. If the
 * pasted text has scrolled out of view, the output starts after its last occurrence in the history, because
 * repainting leaves several copies. If this output has no outcome block, an earlier start is tried.
 */
export function outputAfter(now: ScreenText, text: string, before: ScreenText): string {
  const pasted = squeezed(text);
  const [much, little] = [pasted.slice(-SURE_CHARS), markOf(text)];
  const found =
    textAfterMark(now.view, much, (ends) => newest(now.view, pasted, ends, count(before.view, much))) ??
    textAfterMark(now.all, much, (ends) => ends.length - 1) ??
    textAfterMark(now.all, little, () => 0) ??
    withoutSharedStart(now.all, before.all).trim();
  if (readOutcome(found).found) return found;
  const whole = textAfterMark(now.all, much, (ends) => Math.min(count(before.all, much), ends.length - 1));
  return whole !== null && readOutcome(whole).found ? whole : found;
}

/**
 * Returns the text after an occurrence of the mark, or null if there is none. `choose` gets the end positions
 * of all occurrences and returns the index of one.
 */
function textAfterMark(screen: string, mark: string, choose: (ends: readonly number[]) => number) {
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

/**
 * Returns the index of the occurrence after which the output starts. This is the first new occurrence, or a
 * later one if only repetitions of the text are between the two.
 */
function newest(screen: string, pasted: string, ends: readonly number[], old: number): number {
  const whole = squeezed(screen);
  let index = Math.min(old, ends.length - 1);
  while (index + 1 < ends.length && pasted.endsWith(whole.slice(ends[index]!, ends[index + 1]!))) index++;
  return index;
}

/**
 * Removes the leading lines that `screen` shares with `before`. This gives the new output if the pasted text
 * has scrolled out of view.
 */
function withoutSharedStart(screen: string, before: string): string {
  const old = before.trimEnd().split('\n');
  const lines = screen.split('\n');
  let same = 0;
  while (same < old.length && same < lines.length && old[same] === lines[same]) same++;
  return lines.slice(same).join('\n');
}
