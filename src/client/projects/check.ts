import type { NewDecision } from './decisions.ts';
import {
  acceptedRecords,
  acceptsEntries,
  digestDecisions,
  type Rewrite,
  readSeal,
  repeatedIds,
  rewrittenSinceCommits,
  rewrittenSinceSeal,
  SEAL_FILE,
} from './decisions.ts';
import { faults } from './faults.ts';
import {
  conflictLine,
  DECISIONS_MD,
  PROJECT_FILES,
  type ProjectFiles,
  type ProjectGit,
  STATE_JSON,
  TODOS_JSON,
} from './files.ts';
import { commentNotes, missingFiles, type ProjectView } from './project-view.ts';

export interface Finding {
  readonly file: string;
  readonly level: 'wrong' | 'warning';
  readonly what: string;
  /** Command or action that fixes the problem. */
  readonly fix: string;
}

/** Maximum number of commits of decisions.md that are checked. */
const VERSIONS = 500;

/**
 * Returns all problems of the project files. `view` must have been read with `unchecked`, because this
 * function checks the schemas itself.
 */
export async function checkProject(
  view: ProjectView,
  files: ProjectFiles,
  git: ProjectGit,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const say = (file: string, level: Finding['level'], what: string, fix: string) =>
    void findings.push({ file, level, what, fix });
  const byHand = 'correct the file by hand';
  for (const file of missingFiles(view)) say(file, 'warning', 'the file is missing', 'relay project init');
  const { state, todos } = view.documents;
  for (const what of state ? faults(STATE_JSON, state, 50) : []) say(STATE_JSON, 'warning', what, byHand);
  for (const what of todos ? faults(TODOS_JSON, todos, 50) : []) say(TODOS_JSON, 'warning', what, byHand);
  for (const what of view.broken) {
    const file = PROJECT_FILES.find((name) => what.includes(name)) ?? '';
    say(file, 'wrong', what, what.includes('git conflict markers') ? 'relay project merge' : byHand);
  }
  for (const what of commentNotes(view))
    say(view.commented[0]!, 'warning', what, 'remove them if other programs read the file');
  for (const id of repeatedIds(view.todos))
    say(TODOS_JSON, 'wrong', `the id ${id} is used twice`, 'relay project merge');
  return [...findings, ...(await checkHistory(view, files, git))];
}

/**
 * Checks that records were only appended to decisions.md. Compares the file with its commits. If the file has no
 * commits, compares it with the seal (`SEAL_FILE`).
 */
async function checkHistory(view: ProjectView, files: ProjectFiles, git: ProjectGit): Promise<Finding[]> {
  const findings: Finding[] = [];
  const say = (what: string, fix: string, level: Finding['level'] = 'wrong') =>
    void findings.push({ file: DECISIONS_MD, level, what, fix });
  // During a git conflict the file contains the texts of both branches. Check it after the conflict is
  // resolved.
  if (conflictLine((await files.read(DECISIONS_MD))?.text ?? '') !== null) return findings;
  for (const id of repeatedIds(view.decisions)) say(`the id ${id} is used twice`, 'relay project merge');
  for (const { what, original } of await decisionRewrites(files, git)) {
    const undo = original ? ` (see git show ${original.slice(0, 9)}:./${DECISIONS_MD})` : '';
    const fix = `restore the old text${undo} and append a new record instead, or accept the change: relay project check --accept`;
    say(`history was rewritten: ${what}`, fix);
  }
  if (await git.isShallow()) {
    const fix = 'git fetch --unshallow; in CI, fetch the whole history (fetch-depth: 0)';
    say('this clone has only the latest commits, so its history was not compared', fix, 'warning');
  }
  return findings;
}

/**
 * Returns a record that accepts all changes to earlier records. Returns null if there is no change to accept.
 */
export async function acceptRewrites(files: ProjectFiles, git: ProjectGit): Promise<NewDecision | null> {
  const found = await decisionRewrites(files, git);
  if (found.length === 0) return null;
  const stands = acceptsEntries(await digestDecisions((await files.read(DECISIONS_MD))?.text ?? ''));
  const ids = [...new Set(found.map(({ id }) => id))];
  return {
    title: `Accept the change to ${ids.join(', ')}`,
    accepts: ids.map(stands),
    context: `${found.map(({ what }) => what).join('; ')}.`,
    decision: 'The changed records are valid as they are now.',
    consequences: 'relay project check reports later changes to them again.',
  };
}

/** Returns the changes to earlier records of decisions.md that no record accepts. */
async function decisionRewrites(files: ProjectFiles, git: ProjectGit): Promise<Rewrite[]> {
  const text = (await files.read(DECISIONS_MD))?.text ?? '';
  const changes = await git.history(DECISIONS_MD, VERSIONS);
  const found =
    changes.length > 0
      ? await rewrittenSinceCommits(changes, text)
      : rewrittenSinceSeal(readSeal((await files.read(SEAL_FILE))?.text), await digestDecisions(text));
  const accepted = await acceptedRecords(text);
  return found.filter(({ id }) => !accepted.has(id));
}
