import type { Sides } from '../conflicts.ts';
import { digestDecisions } from '../decision-history.ts';
import { readDecisions } from '../decisions.ts';
import {
  DECISIONS_MD,
  type MergedFile,
  PROJECT_FILES,
  PROJECT_MD,
  type ProjectGit,
  STATE_JSON,
  TODOS_JSON,
} from '../files.ts';
import { readHandoffs } from '../handoffs.ts';
import { openJsonFile } from '../json-file.ts';
import { timeOf } from '../times.ts';
import { readTodos } from '../todos.ts';
import { mergeDecisions } from './merge-decisions.ts';
import { mergeJsonFile } from './merge-json.ts';
import { type Numbered, type Renumbering, renumber, withNumbers } from './renumber.ts';

export type ProjectFileName = (typeof PROJECT_FILES)[number];
/** The sides of those files that are to be merged, or whose numbers count. */
export type ProjectSides = { readonly [Name in ProjectFileName]?: Sides };

export interface ProjectMerge {
  readonly files: { readonly [Name in ProjectFileName]?: MergedFile };
  /** `TODO-012 → TODO-014`, on which side. */
  readonly renumbered: readonly {
    readonly side: 'ours' | 'theirs';
    readonly from: string;
    readonly to: string;
  }[];
}

/** Merges the project files of two branches. Numbers that both gave are made different, with every reference to them. */
export async function mergeProject(
  sides: ProjectSides,
  mergeLines: ProjectGit['mergeLines'],
): Promise<ProjectMerge> {
  const plans = [
    await planned(sides[DECISIONS_MD], 'ADR', decisionNumbers),
    await planned(sides[TODOS_JSON], 'TODO', todoNumbers),
    await planned(sides[STATE_JSON], 'HANDOFF', handoffNumbers),
  ];
  const [base, ours, theirs] = (['base', 'ours', 'theirs'] as const).map(
    (side) => new Map(plans.flatMap((plan) => [...plan[side]])),
  ) as [Map<string, string>, Map<string, string>, Map<string, string>];
  const files: { [name: string]: MergedFile } = {};
  for (const name of PROJECT_FILES) {
    const file = sides[name];
    if (!file) continue;
    const numbered = {
      base: withNumbers(file.base, base),
      ours: withNumbers(file.ours, ours),
      theirs: withNumbers(file.theirs, theirs),
    };
    files[name] = await mergeFile(name, numbered, mergeLines);
  }
  const told = (side: 'ours' | 'theirs', moved: ReadonlyMap<string, string>) =>
    [...moved].map(([from, to]) => ({ side, from, to }));
  return { files, renumbered: [...told('ours', ours), ...told('theirs', theirs)] };
}

async function mergeFile(
  name: ProjectFileName,
  sides: Sides,
  mergeLines: ProjectGit['mergeLines'],
): Promise<MergedFile> {
  if (name === PROJECT_MD) return mergeLines(sides);
  if (name !== DECISIONS_MD) return { text: mergeJsonFile(name, sides), conflict: false };
  const text = mergeDecisions(sides);
  return text === null ? mergeLines(sides) : { text, conflict: false };
}

type Numbers = (text: string) => Numbered[] | Promise<Numbered[]>;

async function planned(sides: Sides | undefined, prefix: string, numbers: Numbers): Promise<Renumbering> {
  if (!sides) return { base: new Map(), ours: new Map(), theirs: new Map() };
  return renumber(prefix, await numbers(sides.base), await numbers(sides.ours), await numbers(sides.theirs));
}

async function decisionNumbers(text: string): Promise<Numbered[]> {
  const digests = await digestDecisions(text);
  return readDecisions(text).map(({ id, title, date }, index) => ({
    id,
    content: digests[index]!.unnumbered,
    origin: title,
    at: timeOf(date) ?? 0,
  }));
}

function todoNumbers(text: string): Numbered[] {
  if (text.trim() === '') return [];
  return readTodos(openJsonFile(TODOS_JSON, text)).map(({ id, title, created }) =>
    numbered(id, title, created),
  );
}

function handoffNumbers(text: string): Numbered[] {
  if (text.trim() === '') return [];
  return readHandoffs(openJsonFile(STATE_JSON, text)).map(({ id, task, created }) =>
    numbered(id, task, created),
  );
}

/** Known again by when it was made; where that is not said, by what it says. */
function numbered(id: string, words: string, created: string | null): Numbered {
  return { id, content: `${created ?? ''}\n${words}`, origin: created ?? words, at: timeOf(created) ?? 0 };
}
