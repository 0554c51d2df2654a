import { isJsonObject } from '../../../base/json.ts';
import { answerCommand } from '../command.ts';
import { printable, rows } from '../human.ts';
import { AGENT_FLAGS } from './outcome.ts';

export default answerCommand({
  usage: '<url>',
  details: 'The address of a host, of an agent on it, or of the card itself.',
  flags: AGENT_FLAGS,
  takes: { min: 1 },
  examples: [
    ['relay a2a card https://agents.example', 'who is there and what it does'],
    ['relay a2a card http://127.0.0.1:7474/a2a/reviewer --json', 'a bridge of a relay, as JSON'],
  ],
  ask: async ({ host, args, flags }) => (await host.openAgent(args[0]!, flags)).card,
  print(card, { style }) {
    const text = (value: unknown) => printable(typeof value === 'string' ? value : '');
    const list = (value: unknown) => (Array.isArray(value) ? value.filter(isJsonObject) : []);
    const lines: [string, string][] = [
      ['name', text(card.name)],
      ['version', text(card.version)],
      ['does', text(card.description)],
    ];
    for (const one of list(card.supportedInterfaces))
      lines.push(['speaks', `${text(one.protocolBinding)} ${text(one.protocolVersion)} at ${text(one.url)}`]);
    for (const skill of list(card.skills))
      lines.push(['skill', `${text(skill.name)}: ${text(skill.description)}`]);
    return rows(style.dim, lines);
  },
});
