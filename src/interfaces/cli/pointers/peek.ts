import { answerCommand } from '../command.ts';
import { bytes, count, expiry, moment, printable, rows } from '../human.ts';
import { openPointer } from './pointer-argument.ts';

const UNKNOWN = 'unknown: the server does not tell';

export default answerCommand({
  usage: '<url>',
  details: `At a terminal: everything known about the pointer. Piped: the metadata as JSON. With --json: all of it.
A peek is free: it reads no payload and counts as no pull. Of a pointer on a server that tells only the metadata, as the
original ContextRelay does, the rest is unknown.`,
  examples: [
    ['relay peek http://127.0.0.1:7474/pull/<uuid>', 'what it is, how large, until when'],
    ['relay peek <url> | jq -r .summary', 'one field of the metadata'],
  ],
  async ask(call) {
    const { client, url } = await openPointer(call);
    return client.inspect(url);
  },
  print(found, { interactive, style }) {
    if (!interactive) return JSON.stringify(found.metadata);
    const { tokens } = found;
    const lines: [string, string][] = [
      ['id', found.id],
      ['size', found.size === null ? UNKNOWN : `${bytes(found.size)}${found.text ? '' : ', binary'}`],
      [
        'tokens',
        tokens
          ? `${count(tokens.tokens)} (${tokens.tokenizer})`
          : found.size === null
            ? UNKNOWN
            : 'not counted yet',
      ],
      ['expires', found.expires_at === null ? UNKNOWN : expiry(found.expires_at)],
      ['pushed', found.created_at === null ? UNKNOWN : pushed(found.created_at, found.from)],
    ];
    if (found.content_type) lines.push(['type', printable(found.content_type)]);
    if (found.channel) lines.push(['channel', printable(found.channel)]);
    if (found.max_pulls !== null) lines.push(['pulls', `at most ${count(found.max_pulls)}`]);
    const metadata = Object.entries(found.metadata).map(([key, value]): [string, string] => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return [`  ${printable(key)}`, printable(text)];
    });
    const table = rows(style.dim, lines);
    return metadata.length === 0 ? table : `${table}\nmetadata\n${rows(style.dim, metadata)}`;
  },
});

function pushed(at: string, from: string | null): string {
  return from === null ? moment(at) : `${moment(at)} by ${printable(from)}`;
}
