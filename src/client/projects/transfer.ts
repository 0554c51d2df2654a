import { BRIEF_LINE_CHARS } from '../../base/limits.ts';
import { REDACTED, redact } from '../../base/redact.ts';
import type { Header } from '../../contract/threads.ts';
import { type BriefLine, type BriefPart, type Draft, maskedLine, part, plainLine, ranked } from './brief.ts';
import { readBuild } from './build-commands.ts';
import { ahead, commandsPart, decisionsPart, RANK, todoLine, withPlace } from './cold-start.ts';
import {
  ago,
  PROJECT_FILES,
  PROJECT_MD,
  type ProjectFiles,
  type ProjectGit,
  placed,
  STATE_JSON,
  TODOS_JSON,
} from './files.ts';
import type { Project } from './project.ts';
import { foreignNotes, type ProjectView } from './project-view.ts';
import { openTodos } from './todos.ts';
import { relevance, type Topic, topicOf } from './topic.ts';

/** Data for an agent that takes over work, in addition to the project files. */
export interface Transfer {
  readonly to: string;
  readonly ask: string | null;
  /** Pointers and files that the agent should read. */
  readonly pointers: readonly string[];
  /** Header of a thread that belongs to the work. Null if there is none. */
  readonly thread: Header | null;
}

/** A coding agent that work can be handed to, in its own words. */
interface Target {
  readonly name: string;
  /** Files with instructions that the client loads by itself. */
  readonly memory: readonly string[];
  /** How the client calls a tool of the relay, and how a user starts the skill. */
  readonly tool?: string;
  readonly skill?: string;
  /** Command that starts the client with a first prompt. */
  readonly start?: string;
}

const TARGETS: { readonly [client: string]: Target } = {
  claude: {
    name: 'Claude Code',
    memory: ['CLAUDE.md', '.claude/CLAUDE.md'],
    tool: 'mcp__relay__NAME',
    skill: '/context-relay',
    start: 'claude',
  },
  codex: {
    name: 'Codex',
    memory: ['AGENTS.md'],
    tool: 'mcp__relay__NAME',
    skill: '$context-relay',
    start: 'codex',
  },
  gemini: { name: 'Gemini CLI', memory: ['GEMINI.md'], tool: 'mcp_relay_NAME', start: 'gemini -i' },
  opencode: { name: 'OpenCode', memory: ['AGENTS.md'], tool: 'relay_NAME', start: 'opencode --prompt' },
  cursor: { name: 'Cursor', memory: ['AGENTS.md', '.cursor/rules'], start: 'cursor-agent' },
  vscode: { name: 'VS Code', memory: ['AGENTS.md', '.github/copilot-instructions.md'] },
};

/** Returns the command that starts a client with a prompt. Returns null for an unknown client. */
export function startCommand(to: string, prompt: string): string | null {
  const start = targetOf(to)?.start;
  return start ? `${start} "${prompt}"` : null;
}

function targetOf(to: string): Target | undefined {
  return Object.hasOwn(TARGETS, to) ? TARGETS[to] : undefined;
}

/**
 * Builds the brief for the agent that takes over. Every line ends with its source in brackets, so that the
 * agent can check it.
 */
export async function transferDraft(
  { files, git }: Pick<Project, 'files' | 'git'>,
  view: ProjectView,
  transfer: Transfer,
): Promise<Draft> {
  const { state } = view;
  const ask = transfer.ask ?? state?.current_task ?? state?.in_progress ?? null;
  const topic = topicOf([ask, ...ahead(view)].join(' '));
  const [inFlight, commits, build, target] = await Promise.all([
    inFlightPart(files, git, topic),
    commitsPart(view, git),
    readBuild(files),
    targetPart(files, transfer.to),
  ]);
  const commands = commandsPart(view, build);
  const parts = [
    askPart(view, transfer, files.folder),
    pointersPart(transfer.pointers),
    statePart(view),
    constraintsPart(view),
    inFlight,
    { ...commands, lines: commands.lines.slice(0, MAX_COMMANDS).map(citeSource) },
    decisionsPart(view, topic, RANK.decisions, cite),
    todosPart(view, topic),
    threadPart(transfer.thread),
    donePart(view),
    commits,
    target,
  ].filter(({ lines }) => lines.length > 0);
  const draft = {
    title: `Hand-off to ${transfer.to}: ${view.identity?.name ?? view.folderName}`,
    warnings: [...view.broken, ...foreignNotes(view), ...maskedSecrets(parts)],
    parts,
    closing: [
      'For the whole brief: relay project start. Before you end: relay project sync --done "..." --next "..."',
    ],
  };
  return withPlace(draft, view.place);
}

/** Maximum number of commands in a hand-off. The whole brief has all of them. */
const MAX_COMMANDS = 6;

/** Moves the source at the end of a command into brackets. A line of PROJECT.md names no source. */
function citeSource(line: BriefLine): BriefLine {
  const [, text = line.text, source = PROJECT_MD] = / \(((?:guessed from )?[\w./-]+)\)$/.test(line.text)
    ? /^(.*) \(([^()]+)\)$/.exec(line.text)!
    : [];
  return { ...line, text: cite(text, source) };
}

/** Says which instructions the next client loads by itself, and which ones it should read. */
async function targetPart(files: ProjectFiles, to: string): Promise<BriefPart> {
  const target = targetOf(to);
  const lines: string[] = [];
  const others = new Map<string, string>();
  if (target) {
    const { name, memory, tool, skill } = target;
    const present = await presentFiles(files, memory);
    // Claude Code loads AGENTS.md if there is no CLAUDE.md.
    if (to === 'claude' && present.length === 0) present.push(...(await presentFiles(files, ['AGENTS.md'])));
    const loaded = present.join(', ') || `${memory[0]}, which does not exist here`;
    lines.push(cite(`${name} loads by itself: ${loaded}`, 'the project folder'));
    for (const other of Object.values(TARGETS)) {
      for (const file of await presentFiles(files, other.memory))
        if (!present.includes(file) && !others.has(file)) others.set(file, other.name);
    }
    const use = skill ? `; the skill with the rules: ${skill}` : '';
    if (tool) lines.push(cite(`Tools of the relay are called ${tool}${use}`, `relay install ${to}`));
  }
  const read = Array.from(others, ([file, name]) =>
    cite(`Read ${file}: it has instructions that were written for ${name}`, file),
  );
  return part(`For ${target?.name ?? to}`, 'the project folder', [
    ...ranked(read, RANK.constraints, 1),
    ...ranked(lines, RANK.decisions, 1),
  ]);
}

async function presentFiles(files: ProjectFiles, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) if (await files.has(name)) found.push(name);
  return found;
}

function askPart(view: ProjectView, { ask }: Transfer, folder: string): BriefPart {
  const { state } = view;
  const [path, task] = state?.current_task
    ? (['current_task', state.current_task] as const)
    : (['progress', state?.in_progress] as const);
  const lines: BriefLine[] = [];
  if (ask) lines.push({ text: citeGiven(ask, 'given with this hand-off'), rank: 0, given: true });
  if (task && task !== ask) lines.push({ text: cite(task, inState(view, path)), rank: RANK.task });
  const description = view.identity?.description;
  if (description)
    lines.push({ text: cite(`About: ${description}`, PROJECT_MD), rank: RANK.constraints - 1 });
  lines.push({ text: cite(`Work in ${folder}`, 'the project folder'), rank: 0 });
  return part('The ask', ask ? 'the hand-off' : STATE_JSON, lines);
}

function statePart(view: ProjectView): BriefPart {
  const list = (label: string, name: string, items: readonly string[], rank: number) => {
    const evidence = (index: number) => inState(view, 'progress', name, index);
    const cited = items.map((item, index) => cite(`${label}: ${item}`, evidence(index)));
    return ranked(cited, rank, 1);
  };
  const { state } = view;
  const lines = [
    ...list('In progress', 'in_progress', state?.in_progress ? [state.in_progress] : [], RANK.task + 1),
    ...list('Blocked', 'blocked', state?.blocked ?? [], RANK.blocked),
    ...list('Next', 'next_steps', state?.next_steps ?? [], RANK.next),
  ];
  if (state?.notes)
    lines.push({ text: cite(`Notes: ${state.notes}`, inState(view, 'notes')), rank: RANK.next + 1 });
  return part('Current state', STATE_JSON, lines, 'synced', state?.last_sync);
}

function constraintsPart({ identity }: ProjectView): BriefPart {
  const lines = (identity?.constraints ?? []).map((constraint) => cite(constraint, PROJECT_MD));
  return part('Constraints', PROJECT_MD, ranked(lines, RANK.constraints, 1));
}

/** Maximum number of files whose hunks are read. */
const MAX_DIFFS = 30;
/** Maximum number of changed lines of a file whose hunks are read. */
const MAX_DIFF_LINES = 5_000;
/** Maximum number of hunks in a line. */
const MAX_HUNKS = 3;

/** Files that usually change as a side effect: settings, lockfiles and files of tools. */
const SETTINGS =
  /(?:^|\/)\.|(?:^|[-./])lock(?:file)?\b|\.(?:json|jsonc|ya?ml|toml|ini|cfg|lock|sum|snap|svg)$|\.config\.\w+$/;

const PROSE = /\.(?:md|mdx|markdown|rst|txt|adoc|html?)$/;
const TESTS = /(?:^|\/)(?:tests?|spec|__tests__)\/|[._-](?:test|spec)\.\w+$/;
/** Maximum length of a function's name in a hunk header. */
const FUNCTION_CHARS = 60;

/** Formats hunk headers. Git adds a heading instead of a function to prose, so it is left out there. */
function hunkText(path: string, headers: readonly string[]): string {
  if (headers.length === 0) return '';
  let last = '';
  const shown = headers.slice(0, MAX_HUNKS).map((header) => {
    const [, range = header, name = ''] = /^(@@ [^@]* @@) ?(.*)$/.exec(header) ?? [];
    const repeated = name === last || PROSE.test(path) || SETTINGS.test(path);
    last = name;
    return repeated || name === '' ? range : `${range} ${plainLine(name, FUNCTION_CHARS)}`;
  });
  const rest = headers.length - shown.length;
  return `: ${shown.join('; ')}${rest > 0 ? `; ${rest} more hunks` : ''}`;
}

/**
 * Lists the files that differ from the last commit, those about the task first, with the headers of their
 * hunks. The first lines have the totals, as the named commands print them.
 */
async function inFlightPart(files: ProjectFiles, git: ProjectGit, topic: Topic): Promise<BriefPart> {
  const [{ branch, commit, inFlight, untracked }, diff] = await Promise.all([
    git.status(),
    git.changedLines(),
  ]);
  const sizeOf = (path: string) => (diff.get(path)?.added ?? 0) + (diff.get(path)?.removed ?? 0);
  const changed = await Promise.all(
    inFlight.map(async (file) => ({ ...file, at: await files.modifiedAt(file.path) })),
  );
  const byAge = changed.toSorted((a, b) => b.at - a.at).map(({ path }) => path);
  const age = new Map(byAge.map((path, index) => [path, index / byAge.length]));
  const score = (path: string, functions: string) => {
    // Split camelCase, so that a word inside a name is found.
    const words = `${path} ${functions}`.replace(/([a-z])([A-Z])/g, '$1 $2');
    const size = Math.min(3, Math.log10(1 + sizeOf(path)));
    const minor = SETTINGS.test(path) ? 4 : PROSE.test(path) ? 2 : TESTS.test(path) ? 1 : 0;
    return 3 * relevance(topic, words) + size - 2 * age.get(path)! - minor;
  };
  const byScore = (hunks?: ReadonlyMap<string, readonly string[]>) => {
    const functions = (path: string) =>
      hunks
        ?.get(path)
        ?.join(' ')
        .replace(/@@ [^@]*@@/g, '') ?? '';
    const scores = new Map(changed.map(({ path }) => [path, score(path, functions(path))]));
    return changed.toSorted((a, b) => scores.get(b.path)! - scores.get(a.path)!);
  };
  const fit = byScore().filter(({ path }) => diff.has(path) && sizeOf(path) <= MAX_DIFF_LINES);
  const hunks = await git.hunks(fit.slice(0, MAX_DIFFS).map(({ path }) => path));
  const lines = byScore(hunks).map(({ path, state }) => {
    const { added, removed } = diff.get(path) ?? { added: 0, removed: 0 };
    const size = diff.has(path) ? ` (+${added} -${removed})` : '';
    return cite(
      `${state} ${path}${size}${hunkText(path, hunks.get(path) ?? [])}`,
      diff.has(path) ? 'git diff HEAD -U0' : 'git status',
    );
  });
  const sum = [...diff.values()].reduce(
    (a, b) => ({ added: a.added + b.added, removed: a.removed + b.removed }),
    {
      added: 0,
      removed: 0,
    },
  );
  const own = (count: number) => (count > 0 ? `, ${count} of them project files, which are not listed` : '');
  const news = untracked - inFlight.filter(({ state }) => state === '??').length;
  const hidden = [...diff.keys()].filter((path) =>
    PROJECT_FILES.some((name) => placed(name, files.place) === path),
  ).length;
  const totals: string[] = [];
  if (diff.size > 0)
    totals.push(
      cite(`${diff.size} files changed, +${sum.added} -${sum.removed} lines${own(hidden)}`, SHORTSTAT),
    );
  if (untracked > 0)
    totals.push(cite(`${untracked} untracked files or folders${own(news)}`, 'git status --short .'));
  const where = commit ? `, on ${branch ?? 'no branch'} at ${commit.slice(0, 9)}` : '';
  return part('Files in flight', `git status${where}`, [
    ...ranked(totals, RANK.constraints, 1),
    ...ranked(lines, RANK.constraints, 2),
  ]);
}

/** Command that prints the totals of changed files and lines. */
const SHORTSTAT = 'git diff HEAD --shortstat --no-renames --relative';

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
    rank: RANK.decisions + index - (relevance(topic, todo.title) > 0 ? 5 : 0),
  }));
  return part('Open todos', TODOS_JSON, lines, 'reviewed', view.lastReview);
}

function threadPart(thread: Header | null): BriefPart {
  const lines: BriefLine[] = [];
  const say = (label: string, text: string, id: string) => {
    const evidence = `thread ${thread!.thread_id} v${thread!.version} ${id}`;
    lines.push({ text: cite(`${label}: ${text}`, evidence), rank: RANK.commands + lines.length });
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
  const given = lines.map((text) => ({ text, rank: RANK.task + 2, given: true }));
  return part('To read', 'given with this hand-off', given);
}

/** Lists the last finished steps, so that they are not done again. */
function donePart(view: ProjectView): BriefPart {
  const done = view.state?.completed ?? [];
  const lines = done.map((item, index) => cite(item, inState(view, 'progress', 'completed', index)));
  return part('Already done', STATE_JSON, ranked(lines.slice(-5).reverse(), RANK.layout, 1));
}

async function commitsPart(view: ProjectView, git: ProjectGit): Promise<BriefPart> {
  const commits = await git.commits({ limit: 5 });
  const lines = commits.map(({ hash, at, subject }) =>
    cite(`${subject} (${ago(at, view.now)})`, `git ${hash.slice(0, 9)}`),
  );
  return part('Latest commits', 'git log', ranked(lines, RANK.rest, 1));
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
  // A list with one item may be a plain text.
  const place = [path, path.slice(0, -1)].find((each) => each.length > 0 && doc?.find(each));
  return place ? `${STATE_JSON}:${doc!.place(place).line}` : STATE_JSON;
}
