import type { State } from '../../../src/contract/threads.ts';

/** One list item or field of the state. Changes and authors are shown per line. */
export interface StateLine {
  /** JSON Pointer to the item, such as `/facts/3`, as the relay's blame uses it. */
  readonly path: string;
  /** Id that stays the same when the item moves in its list. */
  readonly id: string | null;
  /** Text before the item, such as the key of a fact or the status of a step. */
  readonly lead: string | null;
  readonly text: string;
  readonly foot: string | null;
}

export interface StateSection {
  readonly name: string;
  readonly title: string;
  readonly lines: readonly StateLine[];
}

type Item = { readonly [field: string]: unknown };
type LineTexts = readonly [lead: unknown, text: unknown, foot?: unknown];

/** Lists of a state in reading order. Each row has a function that returns the texts to display for an item. */
const LISTS: readonly (readonly [name: keyof State, title: string, textsOf: (item: Item) => LineTexts])[] = [
  ['facts', 'Facts', ({ key, value, by }) => [key, value, by]],
  ['constraints', 'Constraints', ({ severity, description, by }) => [severity, description, by]],
  [
    'decisions',
    'Decisions',
    ({ description, confidence, by }) => [null, description, decisionFoot(confidence, by)],
  ],
  ['open_questions', 'Open questions', ({ status, question }) => [status ?? 'open', question]],
  ['plan', 'Plan', ({ status, step }) => [status ?? 'pending', step]],
  ['artifacts', 'Artifacts', ({ type, name, ref }) => [type, name || ref]],
  ['last_actions', 'Last actions', ({ description }) => [null, description]],
];

/** Returns a state as lines under titles, without empty sections. */
export function stateSections(state: State): StateSection[] {
  const sections: StateSection[] = [];
  if (state.session_summary) {
    const line = { path: '/session_summary', id: null, lead: null, text: state.session_summary, foot: null };
    sections.push({ name: 'session_summary', title: 'Summary', lines: [line] });
  }
  for (const [name, title, textsOf] of LISTS) {
    const list = state[name];
    if (!Array.isArray(list) || list.length === 0) continue;
    const lines = (list as Item[]).map((item, at): StateLine => {
      const [lead, text, foot] = textsOf(item);
      return {
        path: `/${name}/${at}`,
        id: typeof item.id === 'string' ? item.id : null,
        lead: toText(lead),
        text: toText(text) ?? '',
        foot: toText(foot),
      };
    });
    sections.push({ name, title, lines });
  }
  return sections;
}

/** Returns a state as plain lines, for comparison. */
export function stateText(state: State): string[] {
  return stateSections(state).flatMap(({ title, lines }) => [`# ${title}`, ...lines.map(lineText)]);
}

export function lineText({ lead, text, foot }: StateLine): string {
  return `${lead === null ? '' : `${lead}: `}${text}${foot === null ? '' : `  — ${foot}`}`;
}

function decisionFoot(confidence: unknown, by: unknown): string | null {
  const sure = typeof confidence === 'number' ? `${Math.round(confidence * 100)} % sure` : null;
  return [toText(by), sure].filter((part) => part !== null).join(', ') || null;
}

function toText(value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
