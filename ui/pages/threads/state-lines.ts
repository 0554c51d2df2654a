import type { State } from '../../../src/contract/threads.ts';

/** One item of a list of the state, or one field: what a version changes, and what blame tells about. */
export interface StateLine {
  /** `/facts/3`, as in blame. */
  readonly path: string;
  /** What stays the same while the item moves within its list. */
  readonly id: string | null;
  /** What comes first: the key of a fact, the status of a step. */
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
type Shown = readonly [lead: unknown, text: unknown, foot?: unknown];

/** In the order in which a person reads them, each with what is shown of an item. */
const LISTS: readonly (readonly [name: keyof State, title: string, show: (item: Item) => Shown])[] = [
  ['facts', 'Facts', ({ key, value, by }) => [key, value, by]],
  ['constraints', 'Constraints', ({ severity, description, by }) => [severity, description, by]],
  [
    'decisions',
    'Decisions',
    ({ description, confidence, by }) => [null, description, decided(confidence, by)],
  ],
  ['open_questions', 'Open questions', ({ status, question }) => [status ?? 'open', question]],
  ['plan', 'Plan', ({ status, step }) => [status ?? 'pending', step]],
  ['artifacts', 'Artifacts', ({ type, name, ref }) => [type, name || ref]],
  ['last_actions', 'Last actions', ({ description }) => [null, description]],
];

/** A state as lines under titles; what is empty is left out. */
export function stateSections(state: State): StateSection[] {
  const sections: StateSection[] = [];
  if (state.session_summary) {
    const line = { path: '/session_summary', id: null, lead: null, text: state.session_summary, foot: null };
    sections.push({ name: 'session_summary', title: 'Summary', lines: [line] });
  }
  for (const [name, title, show] of LISTS) {
    const list = state[name];
    if (!Array.isArray(list) || list.length === 0) continue;
    const lines = (list as Item[]).map((item, at): StateLine => {
      const [lead, text, foot] = show(item);
      return {
        path: `/${name}/${at}`,
        id: typeof item.id === 'string' ? item.id : null,
        lead: said(lead),
        text: said(text) ?? '',
        foot: said(foot),
      };
    });
    sections.push({ name, title, lines });
  }
  return sections;
}

/** The same as plain lines, to be compared with those of another state. */
export function stateText(state: State): string[] {
  return stateSections(state).flatMap(({ title, lines }) => [
    `# ${title}`,
    ...lines.map(
      ({ lead, text, foot }) =>
        `${lead === null ? '' : `${lead}: `}${text}${foot === null ? '' : `  — ${foot}`}`,
    ),
  ]);
}

function decided(confidence: unknown, by: unknown): string | null {
  const sure = typeof confidence === 'number' ? `${Math.round(confidence * 100)} % sure` : null;
  return [said(by), sure].filter((part) => part !== null).join(', ') || null;
}

function said(value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
