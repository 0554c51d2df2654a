/**
 * Generates the man pages from the table of commands: relay.1, and relay-COMMAND.1 for each command and
 * group.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VARIABLES } from '../../src/app/variables.ts';
import {
  type Command,
  examplesOf,
  type Flags,
  flagHelp,
  GLOBAL_FLAGS,
  type Group,
  isGroup,
  type Node,
} from '../../src/interfaces/cli/command.ts';
import { ROOT, SECTIONS } from '../../src/interfaces/cli/commands.ts';

const EXITS = [
  ['0', 'The command succeeded.'],
  ['1', 'The command failed.'],
  ['2', 'The command line or the configuration is invalid.'],
  ['3', 'The pointer, thread or file does not exist or has expired.'],
  ['4', 'The relay refused the request.'],
  ['5', 'The relay did not answer in time.'],
] as const;

export async function writeManPages(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'relay.1'), mainPage());
  for (const [name, node] of Object.entries(ROOT.commands)) {
    if (!node.hidden) writeFileSync(join(folder, `relay-${name}.1`), await commandPage(name, node));
  }
}

function mainPage(): string {
  const sections = Object.entries(SECTIONS).flatMap(([title, commands]) => [
    `.SS ${text(title)}`,
    ...Object.entries(commands)
      .filter(([, { hidden }]) => !hidden)
      .flatMap(([name, { summary }]) => ['.TP', `.BR relay\\-${text(name)} (1)`, text(summary)]),
  ]);
  return page('relay', ROOT.summary.replace(/^relay: /, ''), [
    '.SH SYNOPSIS',
    '.B relay',
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    'Agents hand each other a short pointer instead of the payload. Without a server every command works on the store in',
    '.IR ~/.relay ;',
    'with',
    '.B CONTEXTRELAY_URL',
    'the same commands talk to a server.',
    '.B relay help guides',
    'lists the guides.',
    '.SH COMMANDS',
    ...sections,
    '.SH OPTIONS EVERYWHERE',
    ...flagLines(GLOBAL_FLAGS),
    '.SH EXIT STATUS',
    ...EXITS.flatMap(([code, what]) => ['.TP', `.B ${code}`, what]),
    '.SH ENVIRONMENT',
    'Options of config.json have variables too; see',
    '.BR relay\\-config (1).',
    ...VARIABLES.flatMap(({ name, help }) => ['.TP', `.B ${text(name)}`, text(help)]),
    '.SH FILES',
    '.TP',
    '.I ~/.relay/config.json',
    'Options of the relay.',
    '.TP',
    '.I ~/.relay/threads',
    'Threads, readable with any editor.',
  ]);
}

async function commandPage(name: string, node: Node): Promise<string> {
  const commands = await leaves(['relay', name], node);
  const several = commands.length > 1 || isGroup(node);
  const body = commands.flatMap(({ path, summary, command }) => [
    ...(several ? [`.SH ${text(path.slice(1).join(' ').toUpperCase())}`, `${text(summary)}.`, '.PP'] : []),
    ...described(command, several),
  ]);
  const synopsis = commands.flatMap(({ path, command }) => ['.PP', ...usageLines(path, command)]);
  return page(`relay-${name}`, node.summary, [
    '.SH SYNOPSIS',
    ...synopsis.slice(1),
    ...body,
    '.SH SEE ALSO',
    '.BR relay (1)',
  ]);
}

interface Leafed {
  readonly path: readonly string[];
  readonly summary: string;
  readonly command: Command;
}

async function leaves(path: readonly string[], node: Node | Group): Promise<Leafed[]> {
  if (!isGroup(node)) return [{ path, summary: node.summary, command: await node.load() }];
  const below = Object.entries(node.commands).filter(([, { hidden }]) => !hidden);
  return (await Promise.all(below.map(([name, child]) => leaves([...path, name], child)))).flat();
}

function usageLines(path: readonly string[], { usage, flags }: Command): string[] {
  const synopsis = [usage, flags && Object.keys(flags).length > 0 ? '[options]' : '']
    .filter(Boolean)
    .join(' ');
  return [`.B ${text(path.join(' '))}`, ...(synopsis ? [text(synopsis)] : [])];
}

function described(command: Command, several: boolean): string[] {
  const { details, flags = {} } = command;
  const examples = examplesOf(command);
  const head = (title: string) => (several ? `.SS ${title}` : `.SH ${title.toUpperCase()}`);
  const lines: string[] = [];
  if (details) lines.push(...(several ? [] : ['.SH DESCRIPTION']), ...paragraphs(details));
  if (Object.keys(flags).length > 0) lines.push(head('Options'), ...flagLines(flags));
  if (examples.length > 0)
    lines.push(
      head('Examples'),
      ...examples.flatMap(([line, what]) => ['.TP', `\\fB${text(line)}\\fR`, text(what)]),
    );
  return lines;
}

function flagLines(flags: Flags): string[] {
  return Object.entries(flags).flatMap(([name, flag]) => {
    const { short, value } = flag;
    const names = `${short ? `\\-${short}, ` : ''}\\-\\-${text(name)}`;
    return ['.TP', value ? `\\fB${names}\\fR \\fI${text(value)}\\fR` : `.B ${names}`, text(flagHelp(flag))];
  });
}

/** Converts a help text to roff. An empty line starts a paragraph. Indented lines keep their line breaks. */
function paragraphs(details: string): string[] {
  let wasFixed = false;
  const lines = details
    .trim()
    .split('\n')
    .flatMap((line) => {
      const fixed = /^\s+\S/.test(line);
      const before = fixed === wasFixed ? [] : [fixed ? '.nf' : '.fi'];
      wasFixed = fixed;
      return [...before, line.trim() === '' ? '.PP' : text(fixed ? line : line.trim())];
    });
  return wasFixed ? [...lines, '.fi'] : lines;
}

function page(name: string, summary: string, body: readonly string[]): string {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  const head = `.TH ${text(name.toUpperCase())} 1 "" "ContextRelay ${version}" "ContextRelay"`;
  return `${[head, '.SH NAME', `${text(name)} \\- ${text(summary)}`, ...body].join('\n')}\n`;
}

/**
 * Escapes text for roff: backslashes, dashes, a dot or quote at the start of a line, and characters that are
 * not ASCII.
 */
function text(plain: string): string {
  return plain
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
    .replace(
      /[^\x00-\x7f]/gu,
      (sign) => `\\[u${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}
