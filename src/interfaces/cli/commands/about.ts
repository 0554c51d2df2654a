import { answerCommand, badUsage, defineCommand } from '../command.ts';
import type { GuideSection, Guides } from '../host.ts';
import { folded } from '../human.ts';
import type { Io, Style } from '../io.ts';
import { suggest } from '../suggest.ts';

const help = defineCommand({
  usage: '[guide] [topic]',
  details: `The guides are the pages of docs/. At a terminal they are set for reading; piped, they are Markdown. Where a command has the
name of a guide, relay help NAME is about the command and relay help guide NAME is the guide.`,
  examples: `
    relay help guides  # which there are
    relay help getting-started  # one of them
    relay help guide mcp  # the guide, where a command is called the same
    relay help push  # the options of a command; the same as relay push --help
    relay help pipelines > pipelines.md  # as Markdown`,
  async run({ io, host, args, commands }) {
    const topic = args[0] === 'guide' && args.length > 1 ? args[1]! : args.join(' ');
    const guides = await host.program.guides();
    if (topic === 'guides' || topic === 'guide' || topic === '')
      return io.result({ sections: guides.index }, () => list(guides, io));
    const markdown = guides.read(topic.toLowerCase().replace(/\.md$/, ''));
    if (markdown === null) {
      const known = [
        ...guides.index.flatMap((section) => section.guides.map((guide) => guide.topic)),
        ...Object.keys(commands.commands),
      ];
      const near = suggest(topic, known);
      throw badUsage(
        `There is no guide and no command "${topic}".`,
        near
          ? `Did you mean: relay help ${near}?`
          : 'relay help guides lists the guides, relay --help the commands.',
      );
    }
    io.result({ topic, markdown }, () => (io.interactive ? guideText(markdown, io) : markdown));
    return 0;
  },
});

function list({ index }: Guides, { style, interactive, width: columns }: Io): string {
  const width = Math.max(...index.flatMap(({ guides }) => guides.map(({ topic }) => topic.length))) + 2;
  const hanging = `\n${' '.repeat(width + 2)}`;
  const set = (about: string) =>
    interactive ? folded(about, Math.max(30, columns - width - 2)).join(hanging) : about;
  return index
    .map(({ title, guides }) =>
      [
        style.bold(title),
        ...guides.map(({ topic, about }) => `  ${style.cyan(topic.padEnd(width))}${set(about)}`),
      ].join('\n'),
    )
    .join('\n\n');
}

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

/**
 * The index of the guides, as docs/README.md has it: a heading for each section, and below it a line
 * `- [Title](file.md): what it is about` for each guide, which may go on indented.
 */
export function guideIndex(readme: string): GuideSection[] {
  const [, ...sections] = readme.split(/^## /m);
  return sections
    .map((section) => ({
      title: section.slice(0, section.indexOf('\n')),
      guides: [...section.matchAll(/^- \[([^\]]+)\]\(([^)]+\.md)\): (.+(?:\n {2}.+)*)/gm)].map(
        ([, title, file, about]) => ({
          topic: topicOf(file!),
          title: title!,
          about: about!.replace(/\s+/g, ' ').replace(/\[([^\]]+)\]\([^)]+\)/g, '$1'),
          file: file!,
        }),
      ),
    }))
    .filter(({ guides }) => guides.length > 0);
}

/** `channels.md` is channels, `integrations/README.md` is integrations, `../SECURITY.md` is security. */
function topicOf(file: string): string {
  return file
    .replace(/^\.\.\//, '')
    .replace(/(\/README)?\.md$/, '')
    .toLowerCase();
}

const version = answerCommand({
  examples: `
    relay version  # the version alone
    relay version --json  # also of the runtime and the system, for a bug report`,
  ask: async ({
    host: {
      program: { version, runtime },
    },
  }) => ({
    version,
    runtime,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  }),
  print: ({ version }) => version,
});

export const commands = { help, version };
