import { defineCommand } from '../command.ts';
import type { Host } from '../host.ts';
import { bytes, count, rows } from '../human.ts';
import type { Io } from '../io.ts';
import { surveyDocument, TOPIC } from './demo-document.ts';

export default defineCommand({
  details: `A surveyor hands a long document to a fixer, in a temporary store of its own. Every figure is counted by
the tokenizer from the very texts that would pass through the two models; none is a guess.`,
  examples: [
    ['relay demo', 'watch it step by step'],
    ['relay demo --json', 'the figures alone'],
  ],
  async run({ io, host }) {
    const say = (line = '') => (io.json ? undefined : io.print(line));
    const bill = await play(io, host, say);
    const { pasted, relayed, tokenizer } = bill;
    io.result(bill, () => summary(io, pasted, relayed, tokenizer));
  },
});

interface Bill {
  readonly tokenizer: string;
  readonly document: { readonly tokens: number; readonly bytes: number };
  /** Through the relay, in the order it happened. */
  readonly steps: readonly Step[];
  readonly pasted: Sums;
  readonly relayed: Sums;
}

interface Step {
  readonly who: 'surveyor' | 'fixer';
  readonly does: 'writes' | 'reads';
  readonly what: string;
  readonly tokens: number;
}

interface Sums {
  readonly written: number;
  readonly read: number;
}

async function play(io: Io, host: Host, say: (line?: string) => void): Promise<Bill> {
  const { style } = io;
  await using scratch = await host.openScratch();
  const { client } = scratch;
  const document = surveyDocument();
  const whole = await host.countTokens(document);
  const size = new TextEncoder().encode(document).byteLength;
  const steps: Step[] = [];
  const step = async (who: Step['who'], does: Step['does'], what: string, text: string) => {
    const { tokens } = await host.countTokens(text);
    steps.push({ who, does, what, tokens });
    const name = (who === 'surveyor' ? style.cyan : style.green)(who.padEnd(8));
    say(`${name}  ${does} ${what} ${style.dim(`· ${count(tokens)} tokens`)}`);
    for (const line of excerpt(text)) say(style.dim(`            ${line}`));
  };

  say(
    `A surveyor has put together survey.md: ${bytes(size)}, ${count(whole.tokens)} tokens (${whole.tokenizer}).`,
  );
  say('A fixer, in another session, needs one thing out of it.');
  say();
  await step('surveyor', 'writes', 'a command', 'relay push survey.md --meta topic=survey');
  const url = await client.push(document, { metadata: { topic: 'survey' } });
  await step('surveyor', 'reads', 'its answer', url);
  const message = `The survey is at ${url}. Please fix what it says under "${TOPIC}".`;
  await step('surveyor', 'writes', 'a message to the fixer', message);
  await step('fixer', 'reads', 'the message', message);
  await step('fixer', 'writes', 'a command', `relay pull ${url} --outline`);
  const outline = await client.pull(url, { outline: true });
  await step('fixer', 'reads', 'the outline', outline);
  const lines = sectionLines(outline, document);
  await step('fixer', 'writes', 'a command', `relay pull ${url} --lines ${lines}`);
  await step('fixer', 'reads', `lines ${lines}`, await client.pull(url, { lines }));
  say();

  const sum = (does: Step['does']) => steps.filter((s) => s.does === does).reduce((n, s) => n + s.tokens, 0);
  return {
    tokenizer: whole.tokenizer,
    document: { tokens: whole.tokens, bytes: size },
    steps,
    pasted: { written: whole.tokens, read: whole.tokens },
    relayed: { written: sum('writes'), read: sum('reads') },
  };
}

/** From the heading that the fixer looks for to the next one. */
function sectionLines(outline: string, document: string): string {
  const lines = document.split('\n');
  const start = lines.findIndex((line) => line.startsWith('## ') && line.includes(TOPIC));
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('## '));
  const found = outline.includes(TOPIC);
  if (start < 0 || !found) throw new Error('the outline does not show the section');
  return `${start + 1}-${start + (length < 0 ? lines.length - start : length)}`;
}

function excerpt(text: string): string[] {
  const lines = text.trimEnd().split('\n');
  const shown = lines.slice(0, 3).map((line) => (line.length > 90 ? `${line.slice(0, 89)}…` : line));
  if (lines.length > 3) shown.push(`… ${count(lines.length - 3)} more lines`);
  return shown;
}

function summary(io: Io, pasted: Sums, relayed: Sums, tokenizer: string): string {
  const { style } = io;
  const all = (sums: Sums) => sums.written + sums.read;
  const figure = (n: number) => count(n).padStart(9);
  const line = (sums: Sums) =>
    `${figure(sums.written)} written ${figure(sums.read)} read ${figure(all(sums))} in all`;
  const share = ((all(relayed) / all(pasted)) * 100).toFixed(1);
  return [
    `${style.bold('The bill')}, in tokens counted with ${tokenizer}`,
    rows([
      ['  pasted into the prompt', line(pasted)],
      ['  through the relay', line(relayed)],
    ]),
    '',
    `The relay's way took ${style.bold(`${share} %`)} of what pasting takes, because the fixer needed a part.`,
    'Had it needed every line, it would have read them all either way; only the writing would be saved.',
  ].join('\n');
}
