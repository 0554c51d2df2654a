const START = '=== CC_OUTCOME_START ===';
const END = '=== CC_OUTCOME_END ===';

/** Stands for the agent's own words in the instruction, and gives away an echo of it. */
const PLACEHOLDERS = [
  '(what you did)',
  '(what is left, or nothing)',
  '(what the sender should know)',
] as const;

/** Asks for the block. Goes behind the task's own words. */
export const OUTCOME_INSTRUCTION = `When you have finished, end with this block, each marker alone on its line:
${START}
COMPLETED: ${PLACEHOLDERS[0]}
NOT_DONE: ${PLACEHOLDERS[1]}
NOTES: ${PLACEHOLDERS[2]}
${END}`;

/** The same on one line, for where several would be submitted one by one. */
export const OUTCOME_REQUEST = `end with a block of lines: ${START} then COMPLETED: then NOT_DONE: then NOTES: then ${END}`;

/**
 * What an agent says at the end of a task, cut out of everything else it printed: the text between the markers, or all of the output where
 * no block was found, and what the block says behind COMPLETED. The last block counts: agents correct themselves, and terminals repaint. A block that only repeats the instruction is
 * no answer. One that was begun and never ended is none either: what is behind it may be missing.
 */
export function readOutcome(output: string) {
  const lines = output.split('\n');
  let end = -1;
  for (let i = lines.length - 1; i >= 0; i--) {
    const line = bare(lines[i]!);
    if (line === END) end = i;
    else if (line === START && end >= 0) {
      const text = undent(lines.slice(i + 1, end));
      if (!isEcho(text)) return { text, found: true, completed: completedIn(text) };
      end = -1;
    }
  }
  return { text: output.trim(), found: false, completed: null };
}

/** The first line that says something, cut where it is longer: for whoever looks at a list. */
export function firstLine(text: string, chars: number): string {
  const line = (text.split('\n').find((each) => each.trim() !== '') ?? '').trim();
  const [...characters] = line;
  return characters.length > chars ? `${characters.slice(0, chars - 1).join('')}…` : line;
}

/** Up to the next label. */
function completedIn(text: string): string | null {
  const labels = '(?:COMPLETED|NOT_DONE|NOTES):';
  const match = new RegExp(`(?:^|\\n)[ \\t]*COMPLETED:([\\s\\S]*?)(?=\\n[ \\t]*${labels}|$)`).exec(text);
  return match ? match[1]!.trim() : null;
}

/** Terminals break lines, so that blanks tell nothing. */
function isEcho(text: string): boolean {
  const words = text.replace(/\s+/g, ' ');
  return PLACEHOLDERS.some((each) => words.includes(each));
}

/** A line without what agents and terminals put around it: bullets, quotes, frames, emphasis. */
function bare(line: string): string {
  return line.replace(/^[\s>*•●⏺⎿│┃|`]+|[\s*│┃|`]+$/gu, '');
}

/** Without the indentation and the frame that all of the lines have. */
function undent(lines: readonly string[]): string {
  const framed = lines.filter((line) => line.trim() !== '');
  const frame = framed.length > 0 && framed.every((line) => /^\s*[│┃]/u.test(line));
  const plain = lines.map((line) => (frame ? line.replace(/^\s*[│┃]|[│┃]\s*$/gu, '') : line).trimEnd());
  const depths = plain.filter((line) => line.trim() !== '').map((line) => /^\s*/.exec(line)![0].length);
  const depth = depths.length > 0 ? Math.min(...depths) : 0;
  const undented = plain.map((line) => line.slice(depth));
  return undented.join('\n').trim();
}
