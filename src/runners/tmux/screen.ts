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

/** What the program has shown since the text was put in: all behind the last sight of it. */
export function outputBehind(screen: string, mark: string, before: string): string {
  const lines = screen.split('\n');
  let behind = '';
  for (let i = lines.length - 1; i >= 0; i--) {
    behind = squeezed(lines[i]!) + behind;
    const at = behind.indexOf(mark);
    if (mark === '' || at < 0) continue;
    // Back to the line in which the mark ends.
    let rest = behind.length - at - mark.length;
    let line = lines.length;
    while (line > i + 1 && rest >= squeezed(lines[line - 1]!).length) {
      rest -= squeezed(lines[line - 1]!).length;
      line--;
      if (rest === 0) break;
    }
    return lines.slice(line).join('\n').trim();
  }
  return withoutBeginning(screen, before).trim();
}

/** Where the text is no longer in view: what was not there before. */
function withoutBeginning(screen: string, before: string): string {
  const old = before.trimEnd().split('\n');
  const lines = screen.split('\n');
  let same = 0;
  while (same < old.length && same < lines.length && old[same] === lines[same]) same++;
  return lines.slice(same).join('\n');
}
