import { BRIEF_LINE_CHARS, REVIEW_AGE_MS } from '../../base/limits.ts';
import { type BriefLine, type BriefPart, type Draft, part, plainLine, ranked } from './brief.ts';
import { type Build, readBuild, shortList } from './build-commands.ts';
import type { Decision } from './decisions.ts';
import {
  ago,
  type Commit,
  DECISIONS_MD,
  type GitStatus,
  PROJECT_MD,
  type ProjectFiles,
  STATE_JSON,
  TODOS_JSON,
  timeOf,
} from './files.ts';
import type { Project } from './project.ts';
import {
  commentNotes,
  foreignNotes,
  missingFiles,
  type ProjectView,
  type ReadOptions,
} from './project-view.ts';
import { type Handoff, isOverdue } from './state.ts';
import { openTodos, sameId, type Todo } from './todos.ts';
import { relevance, type Topic, topicOf } from './topic.ts';

/** Maximum number of todos in a part of a brief, because no brief has room for more. */
const MAX_TODOS = 200;
/** Maximum number of finished steps in a brief. */
const MAX_DONE = 5;
/** Maximum number of commits in a brief. */
const MAX_COMMITS = 20;
/** Maximum number of folders whose content is listed. */
const MAX_FOLDERS = 3;
/** Maximum number of file names in a line. */
const MAX_FILES = 12;
/**
 * Maximum number of todos that come first because they match the topic. The same maximum applies to
 * decisions.
 */
const MAX_MATCHES = 20;

/**
 * Builds the brief for an agent that knows nothing about the project. The parts are in reading order. The
 * returned `now` is the time at which the files were read.
 */
export async function coldStart(
  project: Pick<Project, 'git' | 'read' | 'files'>,
  about: string | null,
  o: ReadOptions = {},
): Promise<{ readonly draft: Draft; readonly now: number }> {
  const { git } = project;
  // Start git before reading the files, so that git and the reading run at the same time.
  const gitReads = Promise.all([git.status(), git.commits({ limit: MAX_COMMITS })]);
  const view = await project.read(o);
  const build = await readBuild(project.files);
  const [status, commits] = await gitReads;
  const opening = await readFirst(project.files);
  const draft = draftOf(view, { status, commits, build, opening }, about);
  return { draft: withPlace(draft, view.place), now: view.now };
}

/**
 * Returns a line that asks the agent to read the instruction files of the project folder. Empty if there are
 * none.
 */
export async function readFirst(files: ProjectFiles): Promise<string[]> {
  const found = await presentFiles(files, ['CLAUDE.md', 'AGENTS.md', 'GEMINI.md']);
  return found.length > 0 ? [`Read ${found.join(', ')} first.`] : [];
}

export async function presentFiles(files: ProjectFiles, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) if (await files.has(name)) found.push(name);
  return found;
}

/** Facts that are not in the project files. */
interface Surroundings {
  readonly status: GitStatus;
  readonly commits: readonly Commit[];
  readonly build: Build;
  readonly opening: readonly string[];
}

/**
 * Rank of the first line of each part of a brief. Each further line of a part has a rank that is higher by
 * one. So if there is no room, the end of a long list is dropped before the start of the next part.
 */
export const RANK = {
  task: 0,
  blocked: 10,
  next: 20,
  constraints: 30,
  commands: 40,
  decisions: 50,
  layout: 60,
  rest: 70,
} as const;

function draftOf(view: ProjectView, around: Surroundings, about: string | null): Draft {
  const { status, commits, build, opening } = around;
  const handoff = about === null ? undefined : view.handoffs.find(({ id }) => sameId('HANDOFF', id, about));
  const topic = handoff
    ? topicOf(`${handoff.task} ${handoff.expected_output}`)
    : topicOf(about ?? [view.state?.current_task, ...plannedWork(view)].join(' '));
  const matching = about === null || handoff ? null : matches(view, topic);
  const rest = {
    ...view,
    todos: matching?.todos ?? view.todos,
    decisions: matching?.decisions ?? view.decisions,
  };
  const todos = todosParts(rest, topic);
  return {
    title: `Project brief: ${view.identity?.name ?? view.folderName}`,
    opening,
    warnings: warnings(view),
    parts: [
      ...(handoff ? [taskPart(handoff)] : []),
      ...(matching
        ? [part(`About: ${plainLine(about!, 80)}`, `${TODOS_JSON}, ${DECISIONS_MD}`, matching.lines)]
        : []),
      statePart(view),
      ...(handoff ? [] : [handoffsPart(view)]),
      todos.urgent,
      projectPart(view),
      commandsPart(view, build),
      decisionsPart(rest, topic, RANK.decisions),
      layoutPart(view, build, status, topic),
      gitPart(status),
      ...headingParts(view),
      checkpointPart(view),
      changesPart(view, commits),
      todos.other,
    ].filter((part) => part.lines.length > 0),
    closing: handoff
      ? [`When you are done: relay project report ${handoff.id} --result "..."`]
      : ['Before you end: relay project sync --done "..." --next "..."'],
  };
}

/**
 * Finds the todos and decisions that share the most words with the topic. Returns lines for them, and
 * separately the remaining todos and decisions.
 */
function matches(view: ProjectView, topic: Topic) {
  const best = <T>(entries: readonly T[], wordsOf: (entry: T) => string) =>
    entries
      .map((entry) => ({ entry, score: relevance(topic, wordsOf(entry)) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, MAX_MATCHES)
      .map(({ entry }) => entry);
  const todos = best(openTodos(view.todos), ({ title, notes }) => `${title} ${notes}`);
  const decisions = best(inForce(view.decisions), decisionText);
  const matched = new Set<unknown>([...todos, ...decisions]);
  const todoLines = todos.map((todo) => todoLine(todo, view.now));
  return {
    lines: [...ranked(todoLines, 1, 0.5), ...ranked(decisions.map(decisionLine), 1, 0.5)],
    todos: view.todos.filter((todo) => !matched.has(todo)),
    decisions: view.decisions.filter((decision) => !matched.has(decision)),
  };
}

/** Returns the work in progress and the next steps. */
export function plannedWork({ state }: ProjectView): (string | null | undefined)[] {
  return [state?.in_progress, ...(state?.next_steps ?? [])];
}

function warnings(view: ProjectView): string[] {
  const found = [...view.broken, ...foreignNotes(view), ...commentNotes(view)];
  const missing = missingFiles(view);
  if (missing.length > 0)
    found.push(`Missing: ${missing.join(', ')}. Create these files with: relay project init`);
  const reviewed = timeOf(view.lastReview);
  const due = reviewed === null || view.now - reviewed > REVIEW_AGE_MS;
  if (due && openTodos(view.todos).length > 0) {
    const when = reviewed === null ? 'never reviewed' : `last reviewed ${ago(reviewed, view.now)}`;
    found.push(`The todos were ${when}. Look through them: relay todo review`);
  }
  return found;
}

/** Puts the folder `place` before the names of project files that the draft gives as sources. */
export function withPlace(draft: Draft, place: string): Draft {
  if (place === '') return draft;
  const FILE = `(${[PROJECT_MD, STATE_JSON, TODOS_JSON, DECISIONS_MD].join('|').replaceAll('.', '\\.')})`;
  const inSource = (text: string) => text.replace(new RegExp(`(?<![/\\w])${FILE}`, 'g'), `${place}$1`);
  return { ...draft, parts: draft.parts.map((each) => ({ ...each, source: inSource(each.source) })) };
}

function taskPart(handoff: Handoff): BriefPart {
  const lines = [
    { text: `Task: ${handoff.task}`, rank: 0 },
    ...(handoff.expected_output ? [{ text: `Expected: ${handoff.expected_output}`, rank: 0 }] : []),
    ...ranked(labelled('Deadline', [handoff.deadline]), 0, 0),
    ...labelled('Read', handoff.context).map((text) => ({ text, rank: 1, given: true })),
    ...(handoff.status === 'open' ? [] : [{ text: `Already reported as ${handoff.status}.`, rank: 0 }]),
  ];
  return part(`Your task, ${handoff.id}`, STATE_JSON, lines, 'given', handoff.created);
}

function gitPart({ branch, commit, inFlight }: GitStatus): BriefPart {
  const files = inFlight.slice(0, MAX_FILES).map(({ path, state }) => `${state} ${path}`);
  if (inFlight.length > files.length) files.push(`and ${inFlight.length - files.length} more`);
  const lines = commit === null ? [] : [`Branch ${branch ?? '(none)'} at ${commit.slice(0, 9)}`];
  if (files.length > 0) lines.unshift(`Uncommitted: ${files.join(', ')}`);
  return part('Where we are', 'git status', ranked(lines, RANK.layout + 5, 5));
}

export function projectPart({ identity, modified }: ProjectView): BriefPart {
  const lines: BriefLine[] = [];
  if (identity?.description) lines.push({ text: identity.description, rank: RANK.constraints - 1 });
  lines.push(...ranked(labelled('Constraint', identity?.constraints), RANK.constraints, 1));
  lines.push(...ranked(identity?.stack ?? [], RANK.layout + 3, 1));
  lines.push(...ranked(identity?.related ?? [], RANK.rest + 10, 1));
  if (identity?.unfilled.length)
    lines.push({ text: `Not filled in yet: ${identity.unfilled.join(', ')}`, rank: RANK.rest + 20 });
  return part('Project', PROJECT_MD, lines, 'changed', modified.get(PROJECT_MD));
}

/** Lists the commands that a person wrote into PROJECT.md, then the commands from the build files. */
export function commandsPart({ identity }: ProjectView, { commands }: Build): BriefPart {
  const own = identity?.commands ?? [];
  const source = [...(own.length > 0 ? [PROJECT_MD] : []), ...(commands.length > 0 ? ['build files'] : [])];
  return part('Commands', source.join(', '), ranked([...own, ...commands], RANK.commands, 1));
}

/**
 * Lists the layout lines of PROJECT.md, then the source folders: first folders with changed files, then
 * folders that match the topic.
 */
export function layoutPart(
  { identity }: ProjectView,
  { layout }: Build,
  { inFlight }: GitStatus,
  topic: Topic,
): BriefPart {
  const score = (path: string) =>
    inFlight.some((file) => file.path.startsWith(path)) ? 9 : relevance(topic, path);
  const folders = layout
    .map(({ folder, names }) => {
      const scores = new Map(names.map((name) => [name, score(`${folder}/${name}`)]));
      const sorted = names.toSorted((a, b) => scores.get(b)! - scores.get(a)!);
      return { text: `In ${folder}/: ${shortList(sorted)}`, score: scores.get(sorted[0]!)! };
    })
    .sort((a, b) => b.score - a.score);
  const rows: string[] = [];
  for (const line of identity?.layout ?? []) {
    const longer = rows.length > 0 ? `${rows.at(-1)}; ${line}` : line;
    if (rows.length > 0 && longer.length <= BRIEF_LINE_CHARS) rows[rows.length - 1] = longer;
    else rows.push(line);
  }
  const source = rows.length > 0 ? `${PROJECT_MD}, folders` : 'folders';
  return part(
    'Layout',
    source,
    ranked([...rows, ...folders.slice(0, MAX_FOLDERS).map(({ text }) => text)], RANK.layout, 1),
  );
}

/** Returns a part for each heading that a person added to PROJECT.md. */
function headingParts({ identity }: ProjectView): BriefPart[] {
  const others = identity?.others ?? [];
  return others.map(({ title, lines }, index) =>
    part(title || 'About', PROJECT_MD, ranked(lines, RANK.layout + 4 + index, 1)),
  );
}

export function statePart({ state }: ProjectView): BriefPart {
  const lines = [
    ...ranked(labelled('Task', [state?.current_task]), RANK.task, 0),
    ...ranked(labelled('Blocked', state?.blocked), RANK.blocked, 1),
    ...ranked(labelled('Done', state?.completed.slice(-MAX_DONE).reverse()), RANK.commands + 5, 1),
    ...ranked(labelled('In progress', [state?.in_progress]), RANK.task + 1, 0),
    ...ranked(labelled('Next', state?.next_steps), RANK.next, 1),
    ...ranked(labelled('Notes', [state?.notes]), RANK.next + 1, 0),
    ...ranked(labelled('Phase', [state?.phase]), RANK.next + 9, 0),
  ];
  return part('State', STATE_JSON, lines, 'synced', state?.last_sync);
}

/** Puts the label before each text that is not empty: `Next: …`. */
function labelled(label: string, texts: readonly (string | null | undefined)[] = []): string[] {
  return texts.filter(Boolean).map((text) => `${label}: ${text}`);
}

function handoffsPart({ handoffs, now }: ProjectView): BriefPart {
  const lines = handoffs
    .filter(({ status, read_at }) => status === 'open' || read_at === null)
    .map((handoff) => {
      const { id, task, status, created, deadline } = handoff;
      const late = isOverdue(handoff, now);
      const at = timeOf(created);
      const open = late ? `overdue, due ${ago(timeOf(deadline)!, now)}` : 'still open';
      const what = status === 'open' ? open : `${status}, read its result: relay project result ${id}`;
      return {
        text: `${id} (${what}${at === null ? '' : `, given ${ago(at, now)}`}): ${task}`,
        rank: RANK.next + 3,
      };
    });
  return part('Given to sub-agents', STATE_JSON, lines);
}

/** Lists the last checkpoint. Lists nothing if the state was synced after it. */
function checkpointPart({ state }: ProjectView): BriefPart {
  const checkpoint = state?.checkpoint;
  const lines: BriefLine[] = [];
  if (checkpoint && checkpoint.at === state.last_update) {
    const { branch, commit, files_in_flight } = checkpoint;
    if (branch || commit)
      lines.push({ text: `Branch ${branch ?? '(none)'} at ${commit ?? 'no commit'}`, rank: RANK.rest + 9 });
    if (files_in_flight.length > 0)
      lines.push({ text: `Files in flight: ${files_in_flight.join(', ')}`, rank: RANK.rest });
  }
  return part('Saved before the last compaction', STATE_JSON, lines, 'saved', checkpoint?.at);
}

/** Rank of the first todo in a part, by status. */
const URGENT = { in_progress: RANK.task + 2, blocked: RANK.blocked };

/**
 * Splits the open todos into two parts: urgent ones (in progress, blocked or high priority) and all others.
 * Todos with low priority come last.
 */
export function todosParts({ todos, lastReview, now }: ProjectView, topic: Topic) {
  const open = openTodos(todos);
  const isUrgent = ({ status, priority }: Todo) => status !== 'pending' || priority === 'high';
  const partOf = (title: string, entries: readonly Todo[], rankOf: (todo: Todo) => number) => {
    const found = entries.map((todo, index) => {
      const related = relevance(topic, todo.title) > 0 ? 5 : 0;
      return { todo, rank: rankOf(todo) + Math.min(index, 40) - related };
    });
    const lines = found
      .sort((a, b) => a.rank - b.rank)
      .slice(0, MAX_TODOS)
      .map(({ todo, rank }) => ({ text: todoLine(todo, now), rank }));
    return { ...part(title, TODOS_JSON, lines, 'reviewed', lastReview), more: found.length - lines.length };
  };
  const other = open.filter((todo) => !isUrgent(todo));
  return {
    urgent: partOf(
      'Todos',
      open.filter(isUrgent),
      ({ status }) => URGENT[status as keyof typeof URGENT] ?? RANK.decisions,
    ),
    other: partOf('Other todos', other, ({ priority }) => RANK.rest + (priority === 'low' ? 20 : 0)),
  };
}

function todoLine(todo: Todo, now: number): string {
  const at = timeOf(todo.updated) ?? timeOf(todo.created);
  const facts = [todo.status.replace('_', ' '), todo.priority, ...(at === null ? [] : [ago(at, now)])];
  return `${todo.id} (${facts.join(', ')}): ${todo.title}${todo.notes ? ` - ${todo.notes.trim().replace(/\s*\n\s*/g, '; ')}` : ''}`;
}

/** Number that is added to the rank of a decision that shares no word with the topic. */
const OTHER_DECISIONS = 20;

/**
 * Lists the decisions in force. Decisions that match the topic come first, then the newest ones. The first line has
 * the rank `rank`, and each further line a rank that is higher by one. Decisions that do not match the topic get a
 * rank that is higher by `OTHER_DECISIONS`.
 */
export function decisionsPart({ decisions, modified }: ProjectView, topic: Topic, rank: number): BriefPart {
  const standing = inForce(decisions);
  const score = new Map(standing.map((record) => [record, relevance(topic, decisionText(record))]));
  const chosen = standing.toReversed().sort((a, b) => score.get(b)! - score.get(a)!);
  const lines = chosen.map((record, index) => ({
    text: decisionLine(record),
    rank: rank + index + (score.get(record)! > 0 ? 0 : OTHER_DECISIONS),
  }));
  return part('Decisions', DECISIONS_MD, lines, 'changed', modified.get(DECISIONS_MD));
}

function inForce(decisions: readonly Decision[]): Decision[] {
  return decisions.filter(
    ({ superseded, status, accepts }) =>
      !superseded && accepts.length === 0 && !/^(?:reject|deprecat)/i.test(status),
  );
}

function decisionText({ title, context, decision }: Decision): string {
  return `${title} ${context} ${decision}`;
}

function decisionLine({ id, title, date, status, decision }: Decision): string {
  const facts = [date, status].filter(Boolean).join(', ');
  return `${id}${facts ? ` (${facts})` : ''} ${title}${decision ? `: ${decision}` : ''}`;
}

/** Lists the commits since the last sync. If there was no sync, lists the five newest commits. */
function changesPart({ state, now }: ProjectView, commits: readonly Commit[]): BriefPart {
  const since = timeOf(state?.last_sync);
  const listed = since === null ? commits.slice(0, 5) : commits.filter(({ at }) => at > since);
  const lines = listed.map(({ hash, at, subject }) => `${hash.slice(0, 9)} (${ago(at, now)}) ${subject}`);
  const cut = listed.length === MAX_COMMITS ? `, the newest ${MAX_COMMITS}` : '';
  const title = since === null ? 'Latest commits' : `Commits since the last sync${cut}`;
  return part(title, 'git log', ranked(lines, RANK.rest, 1));
}
