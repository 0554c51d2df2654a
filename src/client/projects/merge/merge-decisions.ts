import type { Sides } from '../conflicts.ts';
import { type Decision, readDecisions } from '../decisions.ts';

/** Joins the records of two sides, whose numbers do not clash any more. Null where both changed the same thing. */
export function mergeDecisions({ base, ours, theirs }: Sides): string | null {
  const [before, our, their] = [base, ours, theirs].map(taken) as [Taken, Taken, Taken];
  const head = pick(before.head, our.head, their.head);
  if (head === null) return null;
  const records: { readonly number: number; readonly text: string }[] = [];
  for (const id of new Set([...our.records.keys(), ...their.records.keys()])) {
    const text = pick(before.records.get(id) ?? '', our.records.get(id) ?? '', their.records.get(id) ?? '');
    if (text === null) return null;
    if (text !== '') records.push({ number: numberIn(id), text });
  }
  const numbers = [...our.records.keys()].map(numberIn);
  const inOrder = numbers.every((number, index) => index === 0 || number > numbers[index - 1]!);
  if (inOrder) records.sort((a, b) => a.number - b.number);
  const eol = /\r\n|\n|\r/.exec(ours)?.[0] ?? '\n';
  const parts = [head, ...records.map(({ text }) => text)].filter((part) => part.trim() !== '');
  return `${parts.join('\n\n').replaceAll('\n', eol)}${eol}`;
}

function numberIn(id: string): number {
  return Number(/\d+/.exec(id)![0]);
}

interface Taken {
  /** What stands before the first record. */
  readonly head: string;
  readonly records: ReadonlyMap<string, string>;
}

function taken(text: string): Taken {
  const plain = text.replace(/\r\n?/g, '\n');
  const records = readDecisions(plain);
  const first = records[0]?.line ?? Number.POSITIVE_INFINITY;
  return {
    head: plain
      .split('\n')
      .slice(0, first - 1)
      .join('\n')
      .trimEnd(),
    records: new Map(records.map((record: Decision) => [record.id, record.text.trimEnd()])),
  };
}

/** The side that changed something; null where both did, differently. */
function pick(base: string, ours: string, theirs: string): string | null {
  if (ours === theirs || theirs === base) return ours;
  if (ours === base) return theirs;
  return null;
}
