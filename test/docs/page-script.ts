/**
 * The commands and programs of a page, as one shell script. A page is one session, from its first block to its last:
 *
 * - `sh`: commands, which must all succeed
 * - `console`: a line that begins with `$ ` is a command, the lines below it are its output; `…` matches anything
 * - `ts`: all these blocks of a page are one program, which runs after the commands
 * - `<!-- run: COMMANDS -->`: commands that the reader does not see, for example to create a file
 * - `<!-- file: PATH -->`: the next block is the content of this file
 * - `<!-- not run: REASON -->`: the next block does not run
 */
export interface PageScript {
  readonly script: string;
  /** Expected outputs in `console` blocks, keyed by the page's line of the command. */
  readonly expected: ReadonlyMap<number, string>;
  /** The program of the page; empty if it has none. */
  readonly program: string;
}

/** The script prints this character and the block's line number before the output of each block. */
export const MARK = '\u0001';

const PIECE = /^<!-- (run|not run|file): ([\s\S]*?) ?-->$|^```(\w*)\n([\s\S]*?)^```$/gm;

export function pageScript(markdown: string): PageScript {
  const script: string[] = [];
  const program: string[] = [];
  const expected = new Map<number, string>();
  let skipped = false;
  let file: string | null = null;
  for (const { 1: directive, 2: argument = '', 3: kind, 4: text = '', index } of markdown.matchAll(PIECE)) {
    const line = markdown.slice(0, index).split('\n').length;
    if (directive === 'not run') {
      if (!/\w{3}/.test(argument)) throw new Error(`line ${line}: it does not say why it is not run`);
      skipped = true;
      continue;
    }
    if (directive === 'file') file = argument;
    else if (directive === 'run') script.push(printMark(line), argument);
    else if (skipped) skipped = false;
    else if (file !== null) {
      script.push(printMark(line), `cat > ${file} <<'END OF FILE'\n${text}END OF FILE`);
      file = null;
    } else if (kind === 'sh') script.push(printMark(line), text);
    else if (kind === 'ts') program.push(text);
    else if (kind === 'console') {
      for (const { 1: command, 2: printed = '', index: at } of text.matchAll(
        /^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm,
      )) {
        const place = line + 1 + text.slice(0, at).split('\n').length - 1;
        script.push(printMark(place), `{ ${command}\n} 2>&1`);
        expected.set(place, printed);
      }
    }
  }
  return { script: script.join('\n'), expected, program: program.join('\n') };
}

function printMark(line: number): string {
  return `printf '${MARK}%d\\n' ${line}`;
}

/** Returns the output of each block, keyed by the block's line. */
export function printedBy(output: string): Map<number, string> {
  const [, ...pieces] = output.split(MARK);
  return new Map(
    pieces.map((piece) => [Number.parseInt(piece, 10), piece.slice(piece.indexOf('\n') + 1)] as const),
  );
}

/** Returns whether the output matches the page: ids may differ, and `…` matches anything. */
export function prints(expected: string, printed: string): boolean {
  const pattern = expected
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '[0-9a-f-]{36}')
    .replaceAll('…', '[\\s\\S]*');
  return new RegExp(`^${pattern}$`).test(printed.trim());
}
