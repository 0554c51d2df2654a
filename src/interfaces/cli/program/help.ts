import { badUsage, defineCommand } from '../command.ts';
import type { Guides } from '../host-guides.ts';
import { folded } from '../human.ts';
import type { Io } from '../io.ts';
import { suggest } from '../suggest.ts';
import { guideText } from './guide-text.ts';

export default defineCommand({
  usage: '[guide] [topic]',
  takes: { max: 2 },
  details: `The guides are the pages of docs/. At a terminal they are set for reading; piped, they are Markdown. Where a command has the
name of a guide, relay help NAME is about the command and relay help guide NAME is the guide.`,
  examples: [
    ['relay help guides', 'which there are'],
    ['relay help getting-started', 'one of them'],
    ['relay help guide mcp', 'the guide, where a command is called the same'],
    ['relay help push', 'the options of a command; the same as relay push --help'],
    ['relay help pipelines > pipelines.md', 'as Markdown'],
  ],
  async run({ io, host, args, commands }) {
    const topic = args[0] === 'guide' && args.length > 1 ? args[1]! : args.join(' ');
    const guides = await host.guides();
    if (topic === 'guides' || topic === 'guide' || topic === '') {
      io.result({ sections: guides.index }, () => list(guides, io));
      return 0;
    }
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
