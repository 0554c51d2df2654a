import { answerCommand } from '../command.ts';
import type { Host } from '../host.ts';
import { bytes, count, rows, unpainted } from '../human.ts';
import type { Io } from '../io.ts';

const demo = answerCommand({
  details: `One agent, the surveyor, hands a long document to another, the fixer. The demo uses the running server, so
that the dashboard shows it, or else a temporary store. It counts the
tokens of the real texts with a tokenizer; no model is called.`,
  examples: `
    relay demo  # show it step by step
    relay demo --json  # print only the numbers`,
  ask: ({ io, host }) => play(io, host),
  print: summary,
});

/**
 * Lifetime in seconds of the demo's document. A server that keeps running deletes the document after this
 * time.
 */
const DEMO_TTL_S = 3_600;

/** Tokens that the models wrote, and tokens that they read. */
interface Sums {
  readonly written: number;
  readonly read: number;
}

/**
 * Plays the demo. Returns the tokens of each step and, for comparison, the tokens of pasting the whole
 * document.
 */
async function play({ style, json, print }: Io, host: Host) {
  const say = (line = '') => (json ? undefined : print(line));
  await using scratch = await host.relay.scratch();
  const client = await scratch.client();
  const document = surveyDocument();
  const whole = await host.program.countTokens(document);
  const size = Buffer.byteLength(document);
  const steps: { who: string; does: string; what: string; tokens: number }[] = [];
  const step = async (who: 'surveyor' | 'fixer', does: 'writes' | 'reads', what: string, text: string) => {
    const { tokens } = await host.program.countTokens(text);
    steps.push({ who, does, what, tokens });
    const paint = who === 'surveyor' ? style.cyan : style.green;
    say(`${paint(who.padEnd(8))}  ${does} ${what} ${style.dim(`· ${count(tokens)} tokens`)}`);
    for (const line of excerpt(text)) say(style.dim(`            ${line}`));
  };

  say(
    `A surveyor has put together survey.md: ${bytes(size)}, ${count(whole.tokens)} tokens (${whole.tokenizer}).`,
  );
  say('A fixer, in another session, needs one section of it.');
  say();
  await step('surveyor', 'writes', 'a command', 'relay push survey.md --meta topic=survey');
  const url = await client.push(document, {
    metadata: { topic: 'survey', summary: 'survey.md of relay demo' },
    ttl: DEMO_TTL_S,
  });
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

  const sum = (does: string) => steps.filter((s) => s.does === does).reduce((n, s) => n + s.tokens, 0);
  return {
    tokenizer: whole.tokenizer,
    document: { tokens: whole.tokens, bytes: size },
    steps,
    pasted: { written: whole.tokens, read: whole.tokens },
    relayed: { written: sum('writes'), read: sum('reads') },
  };
}

/** Returns the line range of the section about TOPIC, such as `120-180`. */
function sectionLines(outline: string, document: string): string {
  if (!outline.includes(TOPIC)) throw new Error('the outline does not show the section');
  const lines = document.split('\n');
  const start = lines.findIndex((line) => line.startsWith('## ') && line.includes(TOPIC));
  const next = lines.findIndex((line, i) => i > start && line.startsWith('## '));
  return `${start + 1}-${next - 1}`;
}

function excerpt(text: string): string[] {
  const lines = text.trimEnd().split('\n');
  const firstLines = lines.slice(0, 3).map((line) => (line.length > 90 ? `${line.slice(0, 89)}…` : line));
  if (lines.length > 3) firstLines.push(`… ${count(lines.length - 3)} more lines`);
  return firstLines;
}

function summary({ pasted, relayed, tokenizer }: Awaited<ReturnType<typeof play>>, { style }: Io): string {
  const all = (sums: Sums) => sums.written + sums.read;
  const figure = (n: number) => count(n).padStart(9);
  const line = (sums: Sums) =>
    `${figure(sums.written)} written ${figure(sums.read)} read ${figure(all(sums))} total`;
  const share = ((all(relayed) / all(pasted)) * 100).toFixed(1);
  return [
    `${style.bold('Cost')} in tokens, counted with ${tokenizer}`,
    rows(unpainted, [
      ['  pasted into the prompt', line(pasted)],
      ['  through the relay', line(relayed)],
    ]),
    '',
    `The relay used ${style.bold(`${share} %`)} of the tokens of pasting, because the fixer needed only a part.`,
    'If it needed every line, it would read them all either way, and only the writing would be saved.',
  ].join('\n');
}

/** Title of the only section that the fixer, the second agent of the demo, needs. */
const TOPIC = 'Retry storms in the billing queue';

/** Generates a survey of a fictional system with about 50,000 tokens. The text is the same every time. */
function surveyDocument(): string {
  const roll = seededRandom(7474);
  const pick = (items: readonly string[]) => items[roll(items.length)]!;
  const twoDigits = (below: number) => String(roll(below)).padStart(2, '0');
  const hex = (length: number) => Array.from({ length }, () => roll(16).toString(16)).join('');
  const lines = ['# Survey of the order platform\n\nFindings by subject, with evidence and what to do.\n'];
  for (let section = 1; section <= SECTIONS; section++) {
    const title = section === TOPIC_SECTION ? TOPIC : `${pick(TROUBLES)} in the ${pick(PARTS)}`;
    lines.push(`## ${section}. ${title[0]!.toUpperCase()}${title.slice(1)}`, '');
    for (let finding = 1; finding <= FINDINGS; finding++) {
      const service = `${pick(PARTS).replaceAll(' ', '-')}-${roll(9) + 1}`;
      lines.push(
        `${section}.${finding} On ${DAYS[roll(7)]} at ${twoDigits(24)}:${twoDigits(60)} the service ${service} ${pick(EVENTS)},`,
        `after ${roll(900) + 12} requests in ${roll(50) + 2} seconds had ${pick(CAUSES)}.`,
        `Seen in: ${pick(EVIDENCE)} ${hex(8)}, ${roll(4000) + 40} lines, p99 ${roll(4000)} ms.`,
        `To do: ${pick(REMEDIES)} before the next release; owner ${pick(OWNERS)}.`,
        '',
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

const SECTIONS = 44;
const TOPIC_SECTION = 31;
const FINDINGS = 14;

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const TROUBLES = [
  'slow starts',
  'lost updates',
  'stale reads',
  'memory growth',
  'clock drift',
  'noisy alerts',
];
const PARTS = ['order intake', 'price cache', 'stock ledger', 'mail gateway', 'search index', 'audit trail'];
const EVENTS = [
  'answered with errors for a while',
  'fell behind its queue',
  'restarted without a word in the log',
  'held a lock longer than its lease',
  'sent the same message twice',
];
const CAUSES = [
  'piled up behind one slow disk',
  'missed the cache',
  'been retried at once',
  'lost their deadline',
];
const EVIDENCE = ['trace', 'heap profile', 'packet capture', 'log excerpt', 'flame graph'];
const REMEDIES = [
  'put a jitter on the retries and a ceiling on their number',
  'carry the deadline along in every call',
  'move the lock behind a fencing token',
  'measure the queue by age and not by length',
  'write the intent down before acting on it',
];
const OWNERS = ['Ada', 'Grace', 'Linus', 'Margaret', 'Ken', 'Barbara'];

/** Returns a random number generator with a fixed seed, so that the document is always the same. */
function seededRandom(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

export const commands = { demo };
