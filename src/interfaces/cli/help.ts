import {
  type Command,
  examplesOf,
  type Flags,
  flagHelp,
  GLOBAL_FLAGS,
  type Group,
  type Sections,
} from './command.ts';
import { describedName, folded } from './human.ts';
import type { Io, Style } from './io.ts';

/** Colors and width of the terminal that shows the help. */
type Look = Pick<Io, 'style' | 'width'>;

/** Returns the text of `relay --help`, or the help of a group such as `relay thread --help`. */
export function groupHelp(
  path: readonly string[],
  group: Group,
  { style, width: columns }: Look,
  sections: Sections = { Commands: group.commands },
): string {
  const name = path.join(' ');
  const lines = [group.summary, '', `${style.bold('Usage')}  ${name} <command> [options]`, ''];
  const visible = Object.entries(group.commands).filter(([, node]) => !node.hidden);
  const width = Math.max(...visible.map(([key]) => key.length)) + 2;
  for (const [title, commands] of Object.entries(sections)) {
    const rows = Object.entries(commands)
      .filter(([, node]) => !node.hidden)
      .map(([key, node]) => `  ${style.cyan(key.padEnd(width))}${node.summary}`);
    lines.push(style.bold(title), ...rows, '');
  }
  lines.push(style.bold('Global options'), ...flagRows(GLOBAL_FLAGS, style, columns), '');
  if (path.length === 1) {
    lines.push('Values in brackets are the environment variable and the default.', '');
    const tries = ['relay demo', 'echo "hello, agent" | relay push'].map((line) => style.cyan(line));
    lines.push(`New here? Try: ${tries.join('  or  ')}`);
    lines.push(`Guides: ${style.cyan('relay help guides')}`, '');
  }
  lines.push(style.dim(`${name} <command> --help shows its options and examples.`));
  return lines.join('\n');
}

/** Returns the help of one command. */
export function commandHelp(
  path: readonly string[],
  summary: string,
  command: Command,
  { style, width }: Look,
): string {
  const name = path.join(' ');
  const flags = command.flags ?? {};
  const usage = [name, command.usage, Object.keys(flags).length > 0 ? '[options]' : '']
    .filter(Boolean)
    .join(' ');
  const lines = [summary, '', `${style.bold('Usage')}  ${usage}`];
  if (command.details) lines.push('', wrap(command.details, width));
  if (Object.keys(flags).length > 0) lines.push('', style.bold('Options'), ...flagRows(flags, style, width));
  lines.push('', style.bold('Examples'));
  for (const [line, what] of examplesOf(command))
    lines.push(`  ${style.cyan(line)}`, `      ${style.dim(what)}`);
  // If --json passes input to this command, only --output json selects JSON output.
  const json = flags.json ? '--output json' : '--json';
  const globals = [json, '--home DIR', ...(command.localOnly || command.omitsUrl ? [] : ['--url URL'])].join(
    ', ',
  );
  lines.push('');
  if (command.localOnly) lines.push(style.dim('Works only on the local store, not with --url.'));
  lines.push(style.dim(`These options also work: ${globals}; see relay --help.`));
  return lines.join('\n');
}

function flagRows(flags: Flags, style: Style, width: number): string[] {
  const names = Object.entries(flags).map(([key, { short, value }]) =>
    [short && `-${short},`, `--${key}`, value].filter(Boolean).join(' '),
  );
  const indent = Math.max(...names.map((name) => name.length)) + 4;
  return Object.values(flags).map((flag, i) =>
    describedName(style.cyan, names[i]!, flagHelp(flag), { indent, width }),
  );
}

/** Wraps paragraphs to lines of `width` characters. Indented lines stay unchanged. */
function wrap(text: string, width: number): string {
  const paragraphs = /^\S.*(?:\n\S.*)*/gm;
  return text.trim().replace(paragraphs, (paragraph) => folded(paragraph, width).join('\n'));
}
