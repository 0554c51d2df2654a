import { digestDecisions, readSeal, repeatedIds, rewritten, SEAL_FILE } from './decisions.ts';
import {
  DECISIONS_MD,
  PROJECT_FILES,
  type ProjectFiles,
  type ProjectGit,
  STATE_JSON,
  TODOS_JSON,
} from './files.ts';
import { faults, type ProjectView } from './project-view.ts';

export interface Finding {
  readonly file: string;
  readonly level: 'wrong' | 'warning';
  readonly what: string;
  /** What to type or to do. */
  readonly fix: string;
}

/** How far back the history of decisions.md is followed. */
const VERSIONS = 200;

/** Everything that is wrong with the project files, of which `view` is a quick reading; an empty list where nothing is. */
export async function checkProject(
  view: ProjectView,
  files: ProjectFiles,
  git: ProjectGit,
): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const file of PROJECT_FILES) {
    if (!view.modified.has(file)) {
      found.push({ file, level: 'warning', what: 'it is missing', fix: 'relay project init' });
    }
  }
  const fix = 'correct the file by hand';
  for (const [file, doc] of [
    [STATE_JSON, view.documents.state],
    [TODOS_JSON, view.documents.todos],
  ] as const) {
    if (doc)
      found.push(...faults(file, doc, 50).map((what) => ({ file, level: 'warning' as const, what, fix })));
  }
  for (const what of view.broken) {
    const file = PROJECT_FILES.find((name) => what.includes(name)) ?? '';
    found.push({ file, level: 'wrong', what, fix });
  }
  for (const id of repeatedIds(view.todos)) {
    const what = `${id} is there twice`;
    found.push({ file: TODOS_JSON, level: 'wrong', what, fix: 'give one a new number' });
  }
  return [...found, ...(await checkHistory(view, files, git))];
}

/** Whether decisions.md was only ever appended to, judged by its commits and by the seal. */
async function checkHistory(view: ProjectView, files: ProjectFiles, git: ProjectGit): Promise<Finding[]> {
  const found: Finding[] = [];
  const say = (what: string, fix: string, level: Finding['level'] = 'wrong') =>
    void found.push({ file: DECISIONS_MD, level, what, fix });
  for (const id of repeatedIds(view.decisions))
    say(`${id} is there twice`, 'give the later one a new number');
  const text = (await files.read(DECISIONS_MD))?.text ?? '';
  const now = await digestDecisions(text);
  const seal = readSeal((await files.read(SEAL_FILE))?.text);
  const versions = await git.versions(DECISIONS_MD, VERSIONS);
  let [later, by] = [now, 'since the last commit'];
  for (const { commit, text: before } of versions) {
    if (commit === seal.accepted) break;
    const earlier = await digestDecisions(before);
    for (const what of rewritten(earlier, later)) {
      const undo = `see git show ${commit.slice(0, 9)}:./${DECISIONS_MD}`;
      say(`history was rewritten: ${what} ${by}`, `put it back (${undo}) and append a new record instead`);
    }
    [later, by] = [earlier, `in commit ${commit.slice(0, 9)}`];
  }
  // A finding that a commit shows is not reported a second time.
  const told = new Set(found.map(({ what }) => /ADR-\d+ (?:is gone|was changed|was moved)/.exec(what)?.[0]));
  for (const what of rewritten(seal.records, now)) {
    if (told.has(what)) continue;
    const fix = 'put it back and append a new record instead, or accept it: relay project check --accept';
    say(`history was rewritten: ${what} since a relay command last read it`, fix);
  }
  return found;
}
