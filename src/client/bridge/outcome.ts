const START = '=== CC_OUTCOME_START ===';
const END = '=== CC_OUTCOME_END ===';

/**
 * Placeholder texts in the instruction. If an outcome block contains one of them, the agent only repeated the
 * instruction.
 */
const PLACEHOLDERS = [
  '(what you did)',
  '(what is left, or nothing)',
  '(what the sender should know)',
] as const;

/** Instruction that asks the agent for an outcome block. The bridge appends it to the task. */
export const OUTCOME_INSTRUCTION = `When you have finished, end with this block, each marker alone on its line:
${START}
COMPLETED: ${PLACEHOLDERS[0]}
NOT_DONE: ${PLACEHOLDERS[1]}
NOTES: ${PLACEHOLDERS[2]}
${END}`;

/** Request for an outcome block in one line, because some terminals submit each line separately. */
export const OUTCOME_REQUEST = `end with a block of lines: ${START} then COMPLETED: then NOT_DONE: then NOTES: then ${END}`;

/**
 * Finds the last complete outcome block in an agent's output. Returns the text between its markers, and the
 * part after `COMPLETED:`. If there is no block, returns the whole output. The last block counts, because
 * agents correct themselves and terminals print the same text again. A block that only repeats the
 * instruction is ignored. A block without an end marker is ignored too, because its content may be
 * incomplete.
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

/** Returns the first non-empty line of a text, cut to `chars` characters. */
export function firstLine(text: string, chars: number): string {
  const line = (text.split('\n').find((each) => each.trim() !== '') ?? '').trim();
  const [...characters] = line;
  return characters.length > chars ? `${characters.slice(0, chars - 1).join('')}…` : line;
}

/** Returns the text after `COMPLETED:`, up to the next label. Returns null if there is no `COMPLETED:`. */
function completedIn(text: string): string | null {
  const labels = '(?:COMPLETED|NOT_DONE|NOTES):';
  const match = new RegExp(`(?:^|\\n)[ \\t]*COMPLETED:([\\s\\S]*?)(?=\\n[ \\t]*${labels}|$)`).exec(text);
  return match ? match[1]!.trim() : null;
}

/**
 * Returns whether a block only repeats the instruction. Line breaks count as spaces, because terminals wrap
 * lines.
 */
function isEcho(text: string): boolean {
  const line = text.replace(/\s+/g, ' ');
  return PLACEHOLDERS.some((each) => line.includes(each));
}

/** Removes the characters that agents and terminals put around a line: bullets, quotes, frames, emphasis. */
function bare(line: string): string {
  return line.replace(/^[\s>*•●⏺⎿│┃|`]+|[\s*│┃|`]+$/gu, '');
}

/** Removes the indentation that all lines share. If all lines have a frame, removes the frame too. */
function undent(lines: readonly string[]): string {
  const framed = lines.filter((line) => line.trim() !== '');
  const frame = framed.length > 0 && framed.every((line) => /^\s*[│┃]/u.test(line));
  const plain = lines.map((line) => (frame ? line.replace(/^\s*[│┃]|[│┃]\s*$/gu, '') : line).trimEnd());
  const depths = plain.filter((line) => line.trim() !== '').map((line) => /^\s*/.exec(line)![0].length);
  const depth = depths.length > 0 ? Math.min(...depths) : 0;
  const undented = plain.map((line) => line.slice(depth));
  return undented.join('\n').trim();
}
