import { plural } from '../../base/format.ts';
import { PREVIEW_FILE_BYTES } from '../../base/limits.ts';
import type { Header } from '../../contract/threads.ts';
import { type BriefLine, type BriefPart, type Draft, part, plainLine, ranked } from './brief.ts';
import { readBuild } from './build-commands.ts';
import {
  commandsPart,
  decisionsPart,
  layoutPart,
  plannedWork,
  presentFiles,
  projectPart,
  RANK,
  readFirst,
  statePart,
  todosParts,
  withPlace,
} from './cold-start.ts';
import { ago, type GitStatus, PROJECT_FILES, type ProjectFiles, type ProjectGit, placed } from './files.ts';
import type { Project } from './project.ts';
import { foreignNotes, type ProjectView } from './project-view.ts';
import { relevance, type Topic, topicOf } from './topic.ts';

/** Data for an agent that takes over work, in addition to the project files. */
export interface Transfer {
  readonly to: string;
  readonly ask: string | null;
  /** Pointers and files that the agent should read. */
  readonly pointers: readonly string[];
  /** Header of a thread that belongs to the work. Null if there is none. */
  readonly thread: Header | null;
  /**
   * The session of the agent that hands over the work: `parts` quote it, and `closing` says how to read more
   * of it.
   */
  readonly session?: { readonly parts: readonly BriefPart[]; readonly closing: readonly string[] };
}

/** A coding agent that can take over work, with the names of its files, tools and commands. */
interface Target {
  readonly name: string;
  /** Files with instructions that the client loads by itself. */
  readonly memory: readonly string[];
  /**
   * Names of the relay's tools in this client: `NAME` stands for the name of a tool. `skill` is the text with
   * which a user starts the skill.
   */
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

/** Returns the program and the arguments that start a client with a first prompt, or null for an unknown client. */
export function startArgv(to: string, prompt: string): readonly [program: string, ...args: string[]] | null {
  const [program, ...flags] = targetOf(to)?.start?.split(' ') ?? [];
  return program === undefined ? null : [program, ...flags, prompt];
}

/** Returns the command that starts a client with a prompt. Returns null for an unknown client. */
export function startCommand(to: string, prompt: string): string | null {
  const start = targetOf(to)?.start;
  return start ? `${start} "${prompt}"` : null;
}

function targetOf(to: string): Target | undefined {
  return Object.hasOwn(TARGETS, to) ? TARGETS[to] : undefined;
}

/**
 * Builds the brief for the agent that takes over. State, decisions and changed files come before commands and
 * layout.
 */
export async function transferDraft(
  { files, git }: Pick<Project, 'files' | 'git'>,
  view: ProjectView,
  { to, ask, pointers, thread, session }: Transfer,
): Promise<Draft> {
  const topic = topicOf([ask, view.state?.current_task, ...plannedWork(view)].join(' '));
  const [status, build, target, first] = await Promise.all([
    git.status(),
    readBuild(files),
    targetPart(files, to),
    readFirst(files),
  ]);
  const [inFlight, commits] = await Promise.all([
    inFlightPart(files, git, status, topic),
    commitsPart(view, git, status),
  ]);
  const todos = todosParts(view, topic);
  const source = 'given with this hand-off';
  const draft = {
    title: `Hand-off to ${to}: ${view.identity?.name ?? view.folderName}`,
    opening: [`Work in ${files.folder}.`, ...first],
    warnings: [...view.broken, ...foreignNotes(view)],
    strict: true,
    parts: [
      part('The ask', source, ask ? [{ text: ask, rank: RANK.task, given: true }] : []),
      part(
        'To read',
        `${source}; read a URL with relay pull`,
        pointers.map((text) => ({ text, rank: RANK.task + 2, given: true })),
      ),
      statePart(view),
      ...(session?.parts ?? []),
      projectPart(view),
      decisionsPart(view, topic, RANK.constraints + 1),
      inFlight,
      commits,
      todos.urgent,
      threadPart(thread),
      commandsPart(view, build),
      layoutPart(view, build, status, topic),
      todos.other,
      target,
    ].filter(({ lines }) => lines.length > 0),
    closing: [
      ...(session?.closing ?? []),
      'For the whole brief: relay project start. Before you end: relay project sync --done "..." --next "..."',
    ],
  };
  return withPlace(draft, view.place);
}

/** Names the instructions that the next client loads by itself, and explains how it calls our tools. */
async function targetPart(files: ProjectFiles, to: string): Promise<BriefPart> {
  const target = targetOf(to);
  const lines: string[] = [];
  if (target) {
    const { name, memory, tool, skill } = target;
    const present = await presentFiles(files, memory);
    // Claude Code loads AGENTS.md if there is no CLAUDE.md.
    if (to === 'claude' && present.length === 0) present.push(...(await presentFiles(files, ['AGENTS.md'])));
    const loaded = present.join(', ') || `${memory[0]}, which does not exist here`;
    lines.push(`${name} loads by itself: ${loaded}`);
    const use = skill ? `; the skill with the rules: ${skill}` : '';
    if (tool) lines.push(`Tools of the relay are called ${tool}${use}`);
  }
  return part(`For ${target?.name ?? to}`, `relay install ${to}`, ranked(lines, RANK.decisions, 1));
}

/** Maximum number of files whose hunks are read. */
const MAX_DIFFS = 30;
/** Maximum number of changed lines of a file whose hunks are read. */
const MAX_DIFF_LINES = 5_000;
/** Maximum number of hunks that are listed in the line of a file. */
const MAX_HUNKS = 3;
/** If all changes together exceed one of these limits, only hunk headers are shown. */
const SMALL_DIFF = { lines: 40, chars: 1_600 };
/** Limits for showing the beginning of untracked files: number of files, and number of lines per file. */
const PREVIEW = { files: 3, lines: 8 };

/** Files that usually change as a side effect: settings, lockfiles and files of tools. */
const SETTINGS =
  /(?:^|\/)\.|(?:^|[-./])lock(?:file)?\b|\.(?:json|jsonc|ya?ml|toml|ini|cfg|lock|sum|snap|svg)$|\.config\.\w+$/;

/** Matches paths with a file or folder whose name starts with a dot. Such files often contain passwords. */
const HIDDEN = /(?:^|\/)\./;
const PROSE = /\.(?:md|mdx|markdown|rst|txt|adoc|html?)$/;
const TESTS = /(?:^|\/)(?:tests?|spec|__tests__)\/|[._-](?:test|spec)\.\w+$/;
/** Maximum length of a function's name in a hunk header. */
const FUNCTION_CHARS = 60;

/**
 * Formats hunk headers. In prose and settings, git prints a heading or another line in place of the function name.
 * Such a line is left out.
 */
function hunkText(path: string, headers: readonly string[]): string {
  if (headers.length === 0) return '';
  let last = '';
  const listed = headers.slice(0, MAX_HUNKS).map((header) => {
    const [, range = header, name = ''] = /^(@@ [^@]* @@) ?(.*)$/.exec(header) ?? [];
    const repeated = name === last || PROSE.test(path) || SETTINGS.test(path);
    last = name;
    return repeated || name === '' ? range : `${range} ${plainLine(name, FUNCTION_CHARS)}`;
  });
  const rest = headers.length - listed.length;
  return `: ${listed.join('; ')}${rest > 0 ? `; ${rest} more hunks` : ''}`;
}

/**
 * Lists the files that differ from the last commit. Files that match the task come first. If the changes are
 * small, their lines are shown, otherwise their hunk headers. The totals are equal to the output of
 * `SHORTSTAT`.
 */
async function inFlightPart(
  files: ProjectFiles,
  git: ProjectGit,
  { branch, commit, inFlight }: GitStatus,
  topic: Topic,
): Promise<BriefPart> {
  const paths = new Set(inFlight.map(({ path }) => path));
  // Drop files without changed lines, unless git status lists them as changed. git diff-index also lists
  // binary files of which only the time changed.
  const diff = new Map(
    [...(await git.changedLines())].filter(
      ([path, { added, removed }]) => added + removed > 0 || paths.has(path),
    ),
  );
  const sizeOf = (path: string) => (diff.get(path)?.added ?? 0) + (diff.get(path)?.removed ?? 0);
  const changed = await Promise.all(
    inFlight.map(async (file) => ({ ...file, at: await files.modifiedAt(file.path) })),
  );
  const byAge = changed.toSorted((a, b) => b.at - a.at).map(({ path }) => path);
  const age = new Map(byAge.map((path, index) => [path, index / byAge.length]));
  const score = (path: string, functions: string) => {
    // Split camelCase, so that a word inside a name is found.
    const searchText = `${path} ${functions}`.replace(/([a-z])([A-Z])/g, '$1 $2');
    const size = Math.min(3, Math.log10(1 + sizeOf(path)));
    const minor = SETTINGS.test(path) ? 4 : PROSE.test(path) ? 2 : TESTS.test(path) ? 1 : 0;
    return 3 * relevance(topic, searchText) + size - 2 * age.get(path)! - minor;
  };
  const byScore = (hunks?: ReadonlyMap<string, readonly string[]>) => {
    const functions = (path: string) =>
      headersIn(hunks?.get(path))
        .join(' ')
        .replace(/@@ [^@]*@@/g, '');
    const scores = new Map(changed.map(({ path }) => [path, score(path, functions(path))]));
    return changed.toSorted((a, b) => scores.get(b.path)! - scores.get(a.path)!);
  };
  const fit = byScore().filter(({ path }) => diff.has(path) && sizeOf(path) <= MAX_DIFF_LINES);
  const hunks = await git.hunks(fit.slice(0, MAX_DIFFS).map(({ path }) => path));
  const changes = [...hunks.values()].flat().filter((line) => !line.startsWith('@@'));
  const size = inFlight.reduce((sum, { path }) => sum + sizeOf(path), 0);
  const small = size <= SMALL_DIFF.lines && changes.join('').length <= SMALL_DIFF.chars;
  const ordered = byScore(hunks);
  const previews = await previewsOf(files, ordered);
  const lines = ordered.map(({ path, state }, index): BriefLine => {
    const { added, removed } = diff.get(path) ?? { added: 0, removed: 0 };
    const count = diff.has(path) ? ` (+${added} -${removed})` : '';
    const hunk = hunks.get(path) ?? [];
    const code = previews.get(path) ?? hunk.filter((line) => /^[+-]\s*\S/.test(line)).join('\n');
    const hasCode = (small || previews.has(path)) && !HIDDEN.test(path);
    const headers = hasCode ? '' : hunkText(path, headersIn(hunk));
    const rank = RANK.constraints + 2 * index;
    return { text: `${state} ${path}${count}${headers}`, rank, ...(hasCode ? { code } : {}) };
  });
  const sum = (key: 'added' | 'removed') => [...diff.values()].reduce((all, each) => all + each[key], 0);
  const own = PROJECT_FILES.some((name) => diff.has(placed(name, files.place))) ? ', with project files' : '';
  if (diff.size > 0) {
    const totals = `${plural(diff.size, 'file')} changed, +${sum('added')} -${sum('removed')} lines${own}`;
    lines.unshift({ text: `${totals} [${SHORTSTAT}]`, rank: RANK.constraints });
  }
  const where = commit ? `; on ${branch ?? 'no branch'} at ${commit.slice(0, 9)}` : '';
  return part('Files in flight', `git status, git diff HEAD -U0${where}`, lines);
}

function headersIn(hunks: readonly string[] = []): string[] {
  return hunks.filter((line) => line.startsWith('@@ '));
}

/** Returns the first lines of small untracked source files, by path. */
async function previewsOf(files: ProjectFiles, changed: GitStatus['inFlight']): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { path, state } of changed) {
    const source = /\.\w+$/.test(path) && !SETTINGS.test(path) && !PROSE.test(path);
    if (state !== '??' || !source || found.size === PREVIEW.files) continue;
    const { text = '' } = (await files.read(path, PREVIEW_FILE_BYTES).catch(() => null)) ?? {};
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    const first = lines.slice(0, PREVIEW.lines).map((line) => `+${line}`);
    if (first.length > 0) found.set(path, first.join('\n'));
  }
  return found;
}

/** Git command with which a reader can check the totals of changed files and lines. */
const SHORTSTAT = 'git diff HEAD --shortstat --no-renames --relative';

function threadPart(thread: Header | null): BriefPart {
  const lines: BriefLine[] = [];
  const say = (label: string, text: string, id: string) =>
    lines.push({ text: `${label}: ${text} [${id}]`, rank: RANK.commands + lines.length });
  for (const { id, step } of thread?.next_steps ?? []) say('Next', step, id);
  for (const { id, question } of thread?.open_questions ?? []) say('Open question', question, id);
  for (const { id, description } of thread?.top_constraints ?? []) say('Constraint', description, id);
  for (const { id, key, value } of thread?.top_facts ?? []) {
    say('Fact', `${key} = ${typeof value === 'string' ? value : JSON.stringify(value)}`, id);
  }
  for (const { ref, name } of thread?.artifact_refs ?? []) say('Artifact', name ?? ref, ref);
  const source = thread ? `relay state header --thread ${thread.thread_id}, v${thread.version}` : '';
  return part('Thread', source, lines);
}

/**
 * Lists the newest commits that changed the files in the part "Files in flight". Settings and lockfiles are
 * ignored, because many unrelated commits change them.
 */
async function commitsPart(view: ProjectView, git: ProjectGit, { inFlight }: GitStatus): Promise<BriefPart> {
  const tracked = inFlight.filter(({ path, state }) => state !== '??' && !SETTINGS.test(path));
  const paths = tracked.map(({ path }) => path);
  const commits = paths.length > 0 ? await git.commits({ limit: 5, paths: paths.slice(0, MAX_DIFFS) }) : [];
  const lines = commits.map(
    ({ hash, at, subject }) => `${hash.slice(0, 9)} (${ago(at, view.now)}) ${subject}`,
  );
  return part('Commits that changed these files', 'git log', ranked(lines, RANK.rest, 1));
}
