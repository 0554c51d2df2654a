import type { BriefLine, BriefPart, Draft } from '../projects/brief.ts';
import type { FileUse, SessionInfo, SessionTodo, ToolUse, Turn } from './transcript.ts';

/** Maximum number of texts of each kind that are kept while a session is read. The first prompt is always kept. */
const KEPT = 60;
/** Maximum length of a quotation. The line of a brief must also have room for its source. */
const QUOTE_CHARS = 190;
/** Maximum number of quotations from one text. */
const QUOTES = 8;
/** Maximum lengths of a command and of its last error lines, in characters. */
const COMMAND_CHARS = 90;
const ERROR_CHARS = 120;

/** A text, and the number of the turn that contains it. */
interface Quote {
  readonly n: number;
  readonly text: string;
}

interface Run extends Quote {
  readonly tool: ToolUse;
  /** Turn in which this command last failed before this run. */
  readonly failedBefore?: number;
  /** Number of times that the command ran. */
  readonly runs: number;
}

/** Facts about the work in a session. All texts are quotations. */
interface Evidence {
  readonly prompts: Quote[];
  /** Last message of the agent before each prompt of the user. */
  readonly answers: Quote[];
  /** Messages of the agent between its tool calls. `after` is true if the message follows a failed call. */
  readonly remarks: (Quote & { readonly after: boolean })[];
  readonly plans: Quote[];
  readonly runs: Map<string, Run>;
  readonly files: Map<string, { readonly n: number; readonly how: FileUse['how'] }>;
  todos: { readonly n: number; readonly list: readonly SessionTodo[] };
  compactions: number;
  /** Name of the earlier session whose hand-off started this session, or null. */
  before: string | null;
}

/** Functions that read sessions. */
interface Sessions {
  find(name: string): Promise<SessionInfo | null>;
  turns(session: SessionInfo): AsyncIterable<Turn>;
}

/**
 * File with a hand-off. If the first prompt of a session is `FIRST_PROMPT`, the session continues the work of
 * the session that wrote this file. Then a brief quotes both sessions.
 */
export const HANDOFF_FILE = '.relay/handoff.md';
export const FIRST_PROMPT = `Read the hand-off in ${HANDOFF_FILE} (cat ${HANDOFF_FILE}) and go on with the work that it describes.`;
/** Maximum number of earlier sessions that are quoted. */
const GENERATIONS = 4;

/** Returns the parts of a brief that quote a session, and a line that says how to read more of it. */
export async function quoteSession(
  session: SessionInfo,
  sessions: Sessions,
): Promise<Pick<Draft, 'parts' | 'closing'>> {
  const parts: BriefPart[] = [];
  const names: string[] = [];
  for (let at: SessionInfo | null = session; at !== null && names.length <= GENERATIONS; ) {
    const evidence: Evidence = await collectEvidence(sessions.turns(at));
    // Lines of an earlier session get a higher rank, so they are dropped first. The first request of an earlier
    // session stays important, so its rank rises by only one for each later session.
    const older = names.length * OLDER;
    for (const part of evidenceParts(at, evidence)) {
      const later = part.title.startsWith('Asked') ? names.length : older;
      parts.push({ ...part, lines: part.lines.map((line) => ({ ...line, rank: line.rank + later })) });
    }
    names.push(at.name);
    const before: string | null = evidence.before;
    at = before === null || names.includes(before) ? null : await sessions.find(before);
  }
  const closing = `Find more of the session: relay session search --session ${session.name} WORDS. One turn: relay session show ${session.name}:TURN`;
  return { parts, closing: [closing] };
}

/** Number that is added to the rank of an earlier session's lines, once for each later session. */
const OLDER = 6;

/** Reads a session once and collects what the next agent needs. The amount of memory is limited. */
async function collectEvidence(turns: AsyncIterable<Turn>): Promise<Evidence> {
  const evidence: Evidence = {
    prompts: [],
    answers: [],
    remarks: [],
    plans: [],
    runs: new Map(),
    files: new Map(),
    todos: { n: 0, list: [] },
    compactions: 0,
    before: null,
  };
  let continues = false;
  let message: (Quote & { readonly after: boolean }) | null = null;
  let failed = false;
  const settle = (isLast: boolean) => {
    if (message !== null) keep(isLast ? evidence.answers : evidence.remarks, message);
    message = null;
  };
  for await (const turn of turns) {
    const { n, who, text, tool, todos } = turn;
    if (turn.abandoned) continue;
    if (who === 'compaction') evidence.compactions++;
    if (who === 'user' || who === 'agent') settle(who === 'user');
    if (who === 'user' && text === FIRST_PROMPT) continues = true;
    else if (who === 'user') keep(evidence.prompts, { n, text }, 1);
    if (who === 'agent') [message, failed] = [{ n, text, after: failed }, false];
    if (tool === undefined) continue;
    settle(false);
    if (continues && tool.input.includes(HANDOFF_FILE)) {
      const name = /\[session (\w{4}) turn \d+\]/.exec(tool.output)?.[1] ?? null;
      if (name !== null) [evidence.before, continues] = [name, false];
      continue;
    }
    if (text !== '') keep(evidence.plans, { n, text });
    if (todos) evidence.todos = { n, list: todos };
    failed = tool.failed;
    noteRun(evidence.runs, n, tool);
    for (const { path, how } of tool.files) noteFile(evidence.files, path, { n, how });
  }
  settle(true);
  return evidence;
}

/**
 * Appends an item. If the list is too long, drops its oldest item, but never one of the first `fixed` items.
 */
function keep<T>(list: T[], item: T, fixed = 0): void {
  list.push(item);
  if (list.length > KEPT) list.splice(fixed, 1);
}

/** Remembers the last run of each command. */
function noteRun(runs: Evidence['runs'], n: number, tool: ToolUse): void {
  const key = tool.command ?? (tool.failed ? `${tool.name} ${tool.input}` : '');
  if (key === '') return;
  const last = runs.get(key);
  runs.delete(key);
  const failedBefore = last === undefined ? undefined : last.tool.failed ? last.n : last.failedBefore;
  runs.set(key, { n, text: key, tool, failedBefore, runs: (last?.runs ?? 0) + 1 });
  if (runs.size > KEPT) runs.delete(runs.keys().next().value!);
}

/**
 * Remembers the last use of each file. Reading a file after changing it does not count, so that the change is
 * reported.
 */
function noteFile(files: Evidence['files'], path: string, use: { n: number; how: FileUse['how'] }): void {
  const before = files.get(path);
  if (use.how === 'read' && before !== undefined && before.how !== 'read') return;
  files.delete(path);
  files.set(path, before?.how === 'created' && use.how === 'changed' ? { ...use, how: 'created' } : use);
  if (files.size > KEPT) files.delete(files.keys().next().value!);
}

/** Turns evidence into parts of a brief, in reading order. Each line names its turn. */
function evidenceParts({ name, client, folder, updatedAt }: SessionInfo, evidence: Evidence): BriefPart[] {
  const source = `relay session show ${name}`;
  const tag = (n: number) => `[session ${name} turn ${n}]`;
  const quoted = (quotes: readonly Quote[], rankOf: (index: number) => number, step = 0.4): BriefLine[] =>
    quotes.flatMap(({ n, text }, index) =>
      quotesIn(text).map((quote, at) => ({ text: `"${quote}" ${tag(n)}`, rank: rankOf(index) + at * step })),
    );
  const part = (title: string, lines: readonly BriefLine[], at: number | null = null): BriefPart => ({
    title,
    source,
    at,
    verb: 'last changed',
    lines,
    more: 0,
  });
  const [first, ...later] = evidence.prompts;
  const last = evidence.answers.at(-1);
  const earlier = evidence.answers.slice(0, -1).reverse();
  const open = evidence.todos.list.filter(({ status }) => !/^(?:completed|done|cancelled)$/.test(status));
  const todoLine = ({ text, status }: SessionTodo, rank: number): BriefLine => ({
    text: `${status}: ${text} ${tag(evidence.todos.n)}`,
    rank,
  });
  const short = (path: string) => (path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path);
  return [
    part(`Asked in a session of ${client}`, first ? quoted([first], () => 0) : [], updatedAt),
    part(
      'Said later by the user: corrections and decisions',
      quoted(later, (index) => 3 + Math.min(25, later.length - 1 - index) * 0.9),
    ),
    part('Last message of the agent', last ? quoted([last], () => 2, 0.6) : []),
    part('Failed and not repaired since', failureLines(evidence, tag)),
    part('Checks: last run of each command', checkLines(evidence, tag)),
    part('Todos of the session', [
      ...open.map((todo, index) => todoLine(todo, 5 + index)),
      ...evidence.todos.list
        .filter((todo) => !open.includes(todo))
        .map((todo, index) => todoLine(todo, 38 + index)),
    ]),
    part(
      'Plans',
      quoted(evidence.plans.slice(-1), () => 16, 1),
    ),
    part('Files of the session', fileLines(evidence, short, name)),
    part(
      'Earlier messages of the agent',
      quoted(earlier, (index) => 9 + Math.min(index, 20), 0.8),
    ),
    part(
      'Said between tool calls',
      evidence.remarks.toReversed().flatMap((remark, index) => {
        const rank = remark.after ? 11 : SPECIFIC.test(remark.text) ? 14 : 60;
        return quoted([remark], () => rank + Math.min(index, 30), 1);
      }),
    ),
  ].filter(({ lines }) => lines.length > 0);
}

/** Lists commands whose last run failed, newest first, each with its last error lines. */
function failureLines({ runs }: Evidence, tag: (n: number) => string): BriefLine[] {
  const failed = [...runs.values()].filter(({ tool }) => tool.failed).reverse();
  return failed.map(({ n, text, tool }, index) => ({
    text: `${cut(text, COMMAND_CHARS)} → ${ending(tool)} ${tag(n)}`,
    rank: index === 0 ? 2.5 : 6 + index * 1.2,
  }));
}

/** Lists successful commands, newest first, if they check the work, ran several times, or failed before. */
function checkLines({ runs }: Evidence, tag: (n: number) => string): BriefLine[] {
  const checks = [...runs.values()].filter(
    (run) => !run.tool.failed && (run.failedBefore || run.runs > 1 || CHECK.test(run.text)),
  );
  return checks.reverse().map(({ n, text, tool, failedBefore }, index) => {
    const before = failedBefore === undefined ? '' : ` (failed in turn ${failedBefore})`;
    return {
      text: `${cut(text, COMMAND_CHARS)} → ${ending(tool)}${before} ${tag(n)}`,
      rank: 8 + index * 1.5,
    };
  });
}

const CHECK = /\b(?:test|tests|check|lint|build|tsc|typecheck|pytest|jest|vitest|verify|clippy|vet)\b/;

/** Formats the exit code and the last lines of the output. */
function ending({ exit, failed, output }: ToolUse): string {
  const lines = output
    .replace(/^(?:Error: )?Exit code \d+\n?/, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !CLIENT_LINES.test(line));
  // Prefer the last line that names an error, because programs print a stack trace after it.
  const error = failed ? lines.findLast((line) => ERROR_LINE.test(line)) : undefined;
  const tail = (error === undefined ? lines.slice(-2) : [error]).join(' / ').replace(/^Output: /, '');
  const code = exit == null ? (failed ? 'failed' : 'ended') : `exit ${exit}`;
  return tail === '' ? code : `${code}: "${cut(tail, ERROR_CHARS, 'end')}"`;
}

const ERROR_LINE =
  /\b(?:\w*error|exception|fail(?:ed|ure)?|fatal|panic|not found|no such|denied|refused|assert\w*)\b/i;

/** Lines that clients add to the output of commands. */
const CLIENT_LINES =
  /^(?:Exit Code: \d+|Process Group PGID: \d+|Output: \(empty\)|Background PIDs: .*|Signal: .*)$/;

/** Lists files by what happened to them, newest first. Files that were only read come last. */
function fileLines({ files }: Evidence, short: (path: string) => string, name: string): BriefLine[] {
  const uses = [...files].reverse();
  return (['changed', 'created', 'deleted', 'read'] as const).flatMap((how, index) => {
    const newest = uses.filter(([, use]) => use.how === how).slice(0, how === 'read' ? 4 : 8);
    const list = newest.map(([path, { n }]) => `${short(path)} (turn ${n})`).join(', ');
    const rank = how === 'read' ? 55 : 2.7 + index * 0.1;
    return list === '' ? [] : [{ text: `${how}: ${list} [session ${name}]`, rank }];
  });
}

/**
 * Matches texts that say something specific: a reason, a limit, a figure, a name in the code or a quotation.
 */
const SPECIFIC =
  /\d|`|"|\w\.\w|\w_\w|\b(?:because|so|since|too|instead|rather|though|although|not|never|only|must|cannot|without)\b|n't\b/i;

/**
 * Splits a text into quotations that are whole sentences and fit into a line. Of a long text, only the first
 * and the last quotations are kept.
 */
function quotesIn(text: string): string[] {
  const quotes: string[] = [];
  for (const sentence of sentencesIn(text)) {
    const joined = quotes.length > 0 ? `${quotes.at(-1)} ${sentence}` : sentence;
    if (quotes.length > 0 && joined.length <= QUOTE_CHARS) quotes[quotes.length - 1] = joined;
    else quotes.push(sentence);
  }
  if (quotes.length <= QUOTES) return quotes;
  return [...quotes.slice(0, QUOTES / 2), ...quotes.slice(-QUOTES / 2)];
}

function sentencesIn(text: string): string[] {
  const prose = text.replace(/```[\s\S]*?(?:```|$)/g, ' ').replace(/[ \t]+/g, ' ');
  const sentences = prose
    .split(/\n+|(?<=[.!?])\s+(?=\S)/)
    .map((one) => one.replace(/^(?:(?:[-*#>]+|\d+[.)])\s+)+/, '').trim());
  return sentences.filter(Boolean).flatMap(pieces);
}

/** Splits a sentence that is too long for a line, at a comma or a space. */
function pieces(sentence: string): string[] {
  if (sentence.length <= QUOTE_CHARS) return [sentence];
  const head = sentence.slice(0, QUOTE_CHARS);
  const at = Math.max(head.lastIndexOf(', ') + 1, head.lastIndexOf('; ') + 1);
  const end = at > QUOTE_CHARS / 3 ? at : Math.max(head.lastIndexOf(' '), 1);
  return [sentence.slice(0, end).trim(), ...pieces(sentence.slice(end).trim())];
}

function cut(text: string, most: number, side: 'start' | 'end' = 'start'): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line.length <= most) return line;
  return side === 'start' ? `${line.slice(0, most - 1)}…` : `…${line.slice(1 - most)}`;
}
