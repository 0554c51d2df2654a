import { BRIEF_LINE_CHARS } from '../../base/limits.ts';
import { REDACTED, redact } from '../../base/redact.ts';
import type { Header } from '../../contract/threads.ts';
import { type BriefLine, type BriefPart, type Draft, maskedLine, part, plainLine, ranked } from './brief.ts';
import { ahead, decisionsPart, todoLine } from './cold-start.ts';
import { ago, PROJECT_MD, type ProjectGit, STATE_JSON, TODOS_JSON } from './files.ts';
import type { ProjectView } from './project-view.ts';
import { openTodos } from './todos.ts';
import { relevance, type Topic, topicOf } from './topic.ts';

/** Data for an agent that takes over work, in addition to the project files. */
export interface Transfer {
  readonly to: string;
  /** Path of the project folder. */
  readonly folder: string;
  readonly ask: string | null;
  /** Pointers and files that the agent should read. */
  readonly pointers: readonly string[];
  /** Header of a thread that belongs to the work. Null if there is none. */
  readonly thread: Header | null;
}

/**
 * Builds the brief for the agent that takes over. Every line ends with its source in brackets, so that the
 * agent can check it.
 */
export async function transferDraft(view: ProjectView, git: ProjectGit, transfer: Transfer): Promise<Draft> {
  const { state } = view;
  const ask = transfer.ask ?? state?.current_task ?? state?.in_progress ?? null;
  const topic = topicOf([ask, ...ahead(view)].join(' '));
  const [inFlight, commits] = await Promise.all([inFlightPart(git), commitsPart(view, git)]);
  const parts = [
    askPart(view, transfer),
    pointersPart(transfer.pointers),
    statePart(view),
    constraintsPart(view),
    inFlight,
    decisionsPart(view, topic, 4, cite),
    todosPart(view, topic),
    threadPart(transfer.thread),
    commits,
  ].filter(({ lines }) => lines.length > 0);
  return {
    title: `Hand-off to ${transfer.to}: ${view.identity?.name ?? view.folderName}`,
    warnings: [...view.broken, ...maskedSecrets(parts)],
    parts,
    closing: [
      'For the whole brief: relay project start. Before you end: relay project sync --done "..." --next "..."',
    ],
  };
}

function askPart(view: ProjectView, { ask, folder }: Transfer): BriefPart {
  const { state } = view;
  const [path, task] = state?.current_task
    ? (['current_task', state.current_task] as const)
    : (['progress', state?.in_progress] as const);
  const lines: BriefLine[] = [];
  if (ask) lines.push({ text: citeGiven(ask, 'given with this hand-off'), rank: 0, given: true });
  if (task && task !== ask) lines.push({ text: cite(task, inState(view, path)), rank: ask ? 2 : 0 });
  const description = view.identity?.description;
  if (description) lines.push({ text: cite(`About: ${description}`, 'PROJECT.md'), rank: 4 });
  lines.push({ text: cite(`Work in ${folder}`, 'the project folder'), rank: 0 });
  return part('The ask', ask ? 'the hand-off' : STATE_JSON, lines);
}

function statePart(view: ProjectView): BriefPart {
  const list = (label: string, name: string, items: readonly string[], rank: number) => {
    const evidence = (index: number) => inState(view, 'progress', name, index);
    const cited = items.map((item, index) => cite(`${label}: ${item}`, evidence(index)));
    return ranked(cited, rank, 0.5);
  };
  const { state } = view;
  const lines = [
    ...list('In progress', 'in_progress', state?.in_progress ? [state.in_progress] : [], 1),
    ...list('Blocked', 'blocked', state?.blocked ?? [], 2),
    ...list('Next', 'next_steps', state?.next_steps ?? [], 2),
  ];
  if (state?.notes) lines.push({ text: cite(`Notes: ${state.notes}`, inState(view, 'notes')), rank: 3 });
  return part('Current state', STATE_JSON, lines, 'synced', state?.last_sync);
}

function constraintsPart({ identity }: ProjectView): BriefPart {
  const lines = (identity?.constraints ?? []).map((constraint) => cite(constraint, PROJECT_MD));
  return part('Constraints', PROJECT_MD, ranked(lines, 1, 0.1));
}

/** Lists the files that differ from the last commit, with the line counts of `git diff`. */
async function inFlightPart(git: ProjectGit): Promise<BriefPart> {
  const [{ branch, commit, inFlight }, diff] = await Promise.all([git.status(), git.changedLines()]);
  const sum = { added: 0, removed: 0 };
  const lines = inFlight.map(({ path, state }) => {
    const { added, removed } = diff.get(path) ?? { added: 0, removed: 0 };
    sum.added += added;
    sum.removed += removed;
    return cite(`${state} ${path}${diff.has(path) ? ` (+${added} -${removed})` : ''}`, 'git status');
  });
  const where = commit ? `, on ${branch ?? 'no branch'} at ${commit.slice(0, 9)}` : '';
  const whole = `${lines.length} files, +${sum.added} -${sum.removed} lines`;
  if (lines.length > 0) lines.unshift(cite(whole, 'git diff HEAD --stat'));
  return part('Files in flight', `git status${where}`, ranked(lines, 2, 1 / 3));
}

/**
 * Returns a warning that names the sources of all lines in which a secret was masked. Each line ends with its
 * source.
 */
function maskedSecrets(parts: readonly BriefPart[]): string[] {
  const lines = parts.flatMap((each) => each.lines).filter(({ text }) => text.includes(REDACTED));
  const places = lines.map(({ text }) => text.slice(text.lastIndexOf('[') + 1, -1));
  return places.length > 0 ? [`Possible secrets were masked: ${places.join(', ')}.`] : [];
}

function todosPart(view: ProjectView, topic: Topic): BriefPart {
  const lines = openTodos(view.todos).map((todo, index) => ({
    text: cite(todoLine(todo, view.now), todo.line === null ? TODOS_JSON : `${TODOS_JSON}:${todo.line}`),
    rank: 3 + index / 2 - (relevance(topic, todo.title) > 0 ? 1 : 0),
  }));
  return part('Open todos', TODOS_JSON, lines, 'reviewed', view.lastReview);
}

function threadPart(thread: Header | null): BriefPart {
  const lines: BriefLine[] = [];
  const say = (label: string, text: string, id: string) => {
    const evidence = `thread ${thread!.thread_id} v${thread!.version} ${id}`;
    lines.push({ text: cite(`${label}: ${text}`, evidence), rank: 3 + lines.length / 4 });
  };
  for (const { id, step } of thread?.next_steps ?? []) say('Next', step, id);
  for (const { id, question } of thread?.open_questions ?? []) say('Open question', question, id);
  for (const { id, description } of thread?.top_constraints ?? []) say('Constraint', description, id);
  for (const { id, key, value } of thread?.top_facts ?? []) {
    say('Fact', `${key} = ${typeof value === 'string' ? value : JSON.stringify(value)}`, id);
  }
  for (const { ref, name } of thread?.artifact_refs ?? []) say('Artifact', name ?? ref, ref);
  return part('Thread', `relay state header --thread ${thread?.thread_id ?? ''}`, lines);
}

function pointersPart(pointers: readonly string[]): BriefPart {
  const lines = pointers.map((pointer) =>
    citeGiven(pointer, /^https?:/.test(pointer) ? 'relay pull' : 'in the folder'),
  );
  const given = lines.map((text) => ({ text, rank: 1, given: true }));
  return part('To read', 'given with this hand-off', given);
}

async function commitsPart(view: ProjectView, git: ProjectGit): Promise<BriefPart> {
  const commits = await git.commits({ limit: 5 });
  const lines = commits.map(({ hash, at, subject }) =>
    cite(`${subject} (${ago(at, view.now)})`, `git ${hash.slice(0, 9)}`),
  );
  return part('Latest commits', 'git log', ranked(lines, 6, 1));
}

/** Masks the secrets in a text and adds its source. A long text is cut, but the source is never cut. */
function cite(text: string, evidence: string): string {
  return citeGiven(redact(maskedLine(text)), evidence);
}

/**
 * Adds the source to a text that was given with the hand-off. Does not mask secrets, because a pointer must
 * keep its key.
 */
function citeGiven(text: string, evidence: string): string {
  return `${plainLine(text, BRIEF_LINE_CHARS - evidence.length - 3)} [${evidence}]`;
}

function inState(view: ProjectView, ...path: (string | number)[]): string {
  const doc = view.documents.state;
  return doc?.find(path) ? `${STATE_JSON}:${doc.place(path).line}` : STATE_JSON;
}
