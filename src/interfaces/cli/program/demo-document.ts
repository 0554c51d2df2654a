/** What the fixer of the demo looks for. */
export const TOPIC = 'Retry storms in the billing queue';

/** A survey of a made-up system, of about 50 000 tokens; the same every time. */
export function surveyDocument(): string {
  const dice = new Dice(7474);
  const lines = [
    '# Survey of the order platform',
    '',
    'Findings by subject, with evidence and what to do.',
    '',
  ];
  for (let section = 1; section <= SECTIONS; section++) {
    const title = section === TOPIC_SECTION ? TOPIC : `${dice.pick(TROUBLES)} in the ${dice.pick(PARTS)}`;
    lines.push(`## ${section}. ${capital(title)}`, '');
    for (let finding = 1; finding <= FINDINGS; finding++)
      lines.push(...paragraph(dice, section, finding), '');
  }
  return `${lines.join('\n')}\n`;
}

const SECTIONS = 44;
const TOPIC_SECTION = 31;
const FINDINGS = 14;

function paragraph(dice: Dice, section: number, finding: number): string[] {
  const service = `${dice.pick(PARTS).replaceAll(' ', '-')}-${dice.roll(9) + 1}`;
  return [
    `${section}.${finding} On ${DAYS[dice.roll(7)]} at ${time(dice)} the service ${service} ${dice.pick(EVENTS)},`,
    `after ${dice.roll(900) + 12} requests in ${dice.roll(50) + 2} seconds had ${dice.pick(CAUSES)}.`,
    `Seen in: ${dice.pick(EVIDENCE)} ${dice.hex(8)}, ${dice.roll(4000) + 40} lines, p99 ${dice.roll(4000)} ms.`,
    `To do: ${dice.pick(REMEDIES)} before the next release; owner ${dice.pick(OWNERS)}.`,
  ];
}

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

function time(dice: Dice): string {
  return `${String(dice.roll(24)).padStart(2, '0')}:${String(dice.roll(60)).padStart(2, '0')}`;
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}

/** A small generator of chance with a fixed seed, so that everybody sees the same document. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  roll(sides: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * sides);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.roll(items.length)]!;
  }

  hex(length: number): string {
    return Array.from({ length }, () => this.roll(16).toString(16)).join('');
  }
}
