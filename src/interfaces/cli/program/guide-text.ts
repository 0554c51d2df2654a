import { folded } from '../human.ts';
import type { Style } from '../style.ts';

/** A guide for a terminal: paragraphs set to its width, headings and code set apart, tables as lists, links as their words. */
export function guideText(markdown: string, { style, width }: { style: Style; width: number }): string {
  const out: string[] = [];
  const lines = markdown.replace(/<!--[\s\S]*?-->\n?/g, '').split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const fence = /^```/.test(line);
    if (fence) {
      const end = lines.indexOf('```', at + 1);
      const code = lines.slice(at + 1, end < 0 ? lines.length : end);
      out.push(...code.map((one) => (one === '' ? '' : `    ${style.cyan(one)}`)));
      at = end < 0 ? lines.length : end;
    } else if (/^#+ /.test(line)) {
      out.push(style.bold(words(line.replace(/^#+ /, ''))));
    } else if (line.startsWith('|')) {
      // The head of a table and the line below it say little once the columns are gone.
      if (/^\|[-|: ]+\|$/.test(lines[at + 1] ?? '')) at++;
      else out.push(...tableRow(line, style, width));
    } else if (line.startsWith('![')) {
      while (lines[at + 1] === '' && out.at(-1) === '') at++;
    } else if (line.trim() === '') {
      if (out.at(-1) !== '') out.push('');
    } else {
      const block = [line];
      while (/^[^\s|#`-]|^ {2,}\S/.test(lines[at + 1] ?? '') && !/^\d+\. /.test(lines[at + 1]!))
        block.push(lines[++at]!);
      out.push(...paragraph(block, width));
    }
  }
  return out.join('\n').trim();
}

/** A list item hangs behind its mark. */
function paragraph(block: readonly string[], width: number): string[] {
  const mark = /^(?:- |\d+\. )/.exec(block[0]!)?.[0] ?? '';
  const text = words(
    block
      .map((line) => line.trim())
      .join(' ')
      .slice(mark.length),
  );
  const [first = '', ...more] = folded(text, width - mark.length);
  const indent = ' '.repeat(mark.length);
  return [mark + first, ...more.map((line) => indent + line)];
}

function tableRow(line: string, style: Style, width: number): string[] {
  const cells = line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => words(cell.trim().replaceAll('\\|', '|')));
  const [first = '', ...rest] = cells.filter((cell) => cell !== '');
  return [
    `  ${style.cyan(first)}`,
    ...rest.flatMap((cell) => folded(cell, width - 6).map((one) => `      ${one}`)),
  ];
}

function words(text: string): string {
  return text
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]+)\]\(([^)]+)\)/g, (_, label: string, to: string) =>
      /^https?:/.test(to) ? `${label} (${to})` : label,
    )
    .replace(/`([^`]+)`/g, '$1')
    .replace(/\*\*([^*]+)\*\*/g, '$1');
}
