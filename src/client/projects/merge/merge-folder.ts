import { conflictLine, type Sides, sidesOf } from '../conflicts.ts';
import { repeatedIds } from '../decision-history.ts';
import { readDecisions } from '../decisions.ts';
import {
  DECISIONS_MD,
  type MergedCommits,
  type MergedFile,
  PROJECT_FILES,
  type ProjectFiles,
  type ProjectGit,
  TODOS_JSON,
} from '../files.ts';
import { openJsonFile } from '../json-file.ts';
import { readTodos } from '../todos.ts';
import { mergeProject, type ProjectFileName, type ProjectMerge } from './merge.ts';

export interface WrittenMerge extends Pick<ProjectMerge, 'renumbered'> {
  readonly written: readonly string[];
  /** Those in which both sides changed the same lines; they have markers. */
  readonly conflicts: readonly string[];
}

/** Merges the project files in a folder and tells git what is resolved. */
export async function mergeFolder(files: ProjectFiles, git: ProjectGit): Promise<WrittenMerge> {
  const now: { [name: string]: string } = {};
  for (const name of PROJECT_FILES) now[name] = (await files.read(name))?.text ?? '';
  const isOpen = (name: string) =>
    conflictLine(now[name]!) !== null || repeatedIn(name, now[name]!).length > 0;
  if (!PROJECT_FILES.some(isOpen)) return { written: [], conflicts: [], renumbered: [] };
  const under = await git.merging();
  const sides: { [Name in ProjectFileName]?: Sides } = {};
  for (const name of PROJECT_FILES) {
    if (under) sides[name] = await committedSides(git, under, name);
    else if (isOpen(name))
      sides[name] =
        conflictLine(now[name]!) === null ? sidesOfRepeated(name, now[name]!) : sidesOf(now[name]!);
  }
  const { files: merged, renumbered } = await mergeProject(sides, (lines) => git.mergeLines(lines));
  const written: string[] = [];
  const conflicts: string[] = [];
  for (const name of PROJECT_FILES) {
    const file = merged[name];
    // What git has merged by itself stays, except for numbers.
    if (!file || !(isOpen(name) || renumbered.length > 0) || file.text === now[name]) continue;
    await files.write(name, file.text);
    written.push(name);
    if (file.conflict) conflicts.push(name);
  }
  if (under) await git.resolved(written.filter((name) => !conflicts.includes(name)));
  return { written, conflicts, renumbered };
}

/** Merges one file for git, which asks for each of them by itself; the other three tell which numbers were given twice. */
export async function mergeOne(git: ProjectGit, name: ProjectFileName, own: Sides): Promise<MergedFile> {
  const under = await git.merging();
  const sides: { [Name in ProjectFileName]?: Sides } = {};
  for (const other of under ? PROJECT_FILES : []) sides[other] = await committedSides(git, under!, other);
  sides[name] = own;
  const { files } = await mergeProject(sides, (lines) => git.mergeLines(lines));
  return files[name]!;
}

/** The sides of a project file in the commits that are merged. */
async function committedSides(
  git: ProjectGit,
  { base, ours, theirs }: MergedCommits,
  name: string,
): Promise<Sides> {
  return {
    base: base === null ? '' : await git.textIn(base, name),
    ours: await git.textIn(ours, name),
    theirs: await git.textIn(theirs, name),
  };
}

function repeatedIn(name: string, text: string): string[] {
  if (conflictLine(text) !== null || text.trim() === '') return [];
  if (name === DECISIONS_MD) return repeatedIds(readDecisions(text));
  return name === TODOS_JSON ? repeatedIds(readTodos(openJsonFile(name, text))) : [];
}

/** A file in which a number stands twice, as if one side had the first of the two and the other side the second. */
function sidesOfRepeated(name: string, text: string): Sides {
  const repeated = repeatedIn(name, text);
  const without = (drop: (isFirst: boolean) => boolean) => {
    const seen = new Set<string>();
    const isDropped = (id: string) => repeated.includes(id) && drop(seen.size !== seen.add(id).size);
    if (name === TODOS_JSON) {
      const doc = openJsonFile(name, text);
      const dropped = readTodos(doc).flatMap(({ id }, index) => (isDropped(id) ? [index] : []));
      for (const index of dropped.reverse()) doc.remove(['todos', index]);
      return doc.text;
    }
    const lines = text.split(/\r\n|\n|\r/);
    for (const { id, line, text: record } of readDecisions(text)) {
      if (isDropped(id)) lines.fill('', line - 1, line - 1 + record.split('\n').length);
    }
    return lines.join('\n');
  };
  return {
    base: without(() => true),
    ours: without((isFirst) => !isFirst),
    theirs: without((isFirst) => isFirst),
  };
}
