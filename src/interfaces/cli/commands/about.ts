import { answerCommand, badUsage, defineCommand } from '../command.ts';
import type { GuideSection, Guides } from '../host.ts';
import { describedName, folded } from '../human.ts';
import type { Io, Style } from '../io.ts';
import { suggest } from '../suggest.ts';

const help = defineCommand({
  omitsUrl: true,
  usage: '[guide] [topic]',
  details: `The guides are the pages of docs/. At a terminal they are formatted; in a pipe they are Markdown. If a command and a guide
have the same name, relay help NAME shows the command and relay help guide NAME the guide.`,
  examples: `
    relay help guides  # list the guides
    relay help getting-started  # show a guide
    relay help guide mcp  # show the guide mcp, not the command mcp
    relay help push  # show the help of a command; same as relay push --help
    relay help pipelines > pipelines.md  # save a guide as Markdown`,
  async run({ io, host, args, commands }) {
    const topic = args[0] === 'guide' && args.length > 1 ? args[1]! : args.join(' ');
    const guides = await host.program.guides();
    if (topic === 'guides' || topic === 'guide' || topic === '')
      return io.result({ sections: guides.index }, () => list(guides, io));
    const markdown = guides.read(topic.toLowerCase().replace(/\.md$/, ''));
    if (markdown === null) {
      const topics = [
        ...guides.index.flatMap((section) => section.guides.map((guide) => guide.topic)),
        ...Object.keys(commands.commands),
      ];
      const near = suggest(topic, topics);
      throw badUsage(
        `There is no guide and no command "${topic}".`,
        near
          ? `Did you mean: relay help ${near}?`
          : 'List the guides with relay help guides, and the commands with relay --help.',
      );
    }
    io.result({ topic, markdown }, () =>
      io.interactive ? guideText(markdown, io) : withoutComments(markdown),
    );
  },
});

function list({ index }: Guides, { style, interactive, width: columns }: Io): string {
  const topics = index.flatMap(({ guides }) => guides.map(({ topic }) => topic));
  const indent = Math.max(...topics.map((topic) => topic.length)) + 4;
  const width = interactive ? columns : Number.POSITIVE_INFINITY;
  return index
    .map(({ title, guides }) => {
      const rows = guides.map(({ topic, about }) =>
        describedName(style.cyan, topic, about, { indent, width }),
      );
      return [style.bold(title), ...rows].join('\n');
    })
    .join('\n\n');
}

/** Removes HTML comments from a guide. They are instructions for the test that runs the guide's commands. */
function withoutComments(markdown: string): string {
  return markdown.replace(/<!--[\s\S]*?-->\n*/g, '');
}

/** Formats a guide for a terminal: wraps paragraphs, highlights headings and code, shows tables as lists and links as text. */
export function guideText(markdown: string, { style, width }: { style: Style; width: number }): string {
  const out: string[] = [];
  const lines = withoutComments(markdown).split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const fence = /^```/.test(line);
    if (fence) {
      const end = lines.indexOf('```', at + 1);
      const code = lines.slice(at + 1, end < 0 ? lines.length : end);
      out.push(...code.map((one) => (one === '' ? '' : `    ${style.cyan(one)}`)));
      at = end < 0 ? lines.length : end;
    } else if (/^#+ /.test(line)) {
      out.push(style.bold(plainText(line.replace(/^#+ /, ''))));
    } else if (line.startsWith('|')) {
      // Skip the header row: tables are printed as lists, which need no column titles.
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

/**
 * Wraps a paragraph. If it is a list item, further lines are indented to the text after the bullet or number.
 */
function paragraph(block: readonly string[], width: number): string[] {
  const mark = /^(?:- |\d+\. )/.exec(block[0]!)?.[0] ?? '';
  const text = plainText(
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
    .map((cell) => plainText(cell.trim().replaceAll('\\|', '|')));
  const [first = '', ...rest] = cells.filter((cell) => cell !== '');
  return [
    `  ${style.cyan(first)}`,
    ...rest.flatMap((cell) => folded(cell, width - 6).map((one) => `      ${one}`)),
  ];
}

/** Removes inline Markdown: images, links, code marks and bold. */
function plainText(text: string): string {
  return text
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]+)\]\(([^)]+)\)/g, (_, label: string, to: string) =>
      /^https?:/.test(to) ? `${label} (${to})` : label,
    )
    .replace(/`([^`]+)`/g, '$1')
    .replace(/\*\*([^*]+)\*\*/g, '$1');
}

/**
 * Parses the list of guides in docs/README.md. Each section has a heading and lines of the form `-
 * [Title](file.md): what it is about`. Indented lines continue the line above.
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

/**
 * Returns the topic name of a guide file, such as `channels` for `channels.md`, `integrations` for
 * `integrations/README.md` and `security` for `../SECURITY.md`.
 */
function topicOf(file: string): string {
  return file
    .replace(/^\.\.\//, '')
    .replace(/(\/README)?\.md$/, '')
    .toLowerCase();
}

const version = answerCommand({
  omitsUrl: true,
  examples: `
    relay version  # print the version
    relay version --json  # include runtime and system, for a bug report`,
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
