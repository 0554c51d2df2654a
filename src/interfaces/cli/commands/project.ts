import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { EXIT } from '../../../base/errors.ts';
import { BRIEF_TOKENS, HANDOFF_DEADLINE_MS, TASK_TIMEOUT_MS } from '../../../base/limits.ts';
import { boundedBrief, LEAST_TOKENS, plainLine, secretWarning } from '../../../client/projects/brief.ts';
import { coldStart } from '../../../client/projects/cold-start.ts';
import type { NewDecision } from '../../../client/projects/decisions.ts';
import { type Handoff, isOverdue } from '../../../client/projects/state.ts';
import { draftAsTyped } from '../as-typed.ts';
import { answerCommand, badUsage } from '../command.ts';
import { parseCount, parseMilliseconds } from '../human.ts';
import { LINKS_FLAG, needText, PROJECT_FLAGS, projectCommand, theProject } from './project-call.ts';

const init = answerCommand({
  usage: '[dir]',
  details: `They are filled with what can be found out: name, description, stack and folders, from package.json, pyproject.toml,
Cargo.toml, go.mod, the README and git; decisions that have files of their own, as in docs/adr, are named. A file that exists is kept.`,
  flags: { force: { help: 'write files that exist anew; what they held is lost' }, ...LINKS_FLAG },
  examples: `
    relay project init  # in this folder
    relay project init ../api  # in another one`,
  async ask({ io, host, flags, args }) {
    const folder = resolve(io.cwd, args[0] ?? '.');
    const project = await host.projects.open(folder, { followLinks: flags['follow-links'] });
    return { folder, ...(await project.init({ force: flags.force })) };
  },
  print: ({ written, kept }, { style, typed }) =>
    [
      ...written.map((name) => `${style.green('wrote')}  ${name}`),
      ...kept.map((name) => `${style.dim('kept')}   ${name} ${style.dim('(it is there already)')}`),
      '',
      written.length > 0
        ? typed('Look through PROJECT.md; then begin each session with: relay project start')
        : 'Nothing to do. --force would write them anew.',
    ].join('\n'),
});

const start = projectCommand({
  details: `For a new session, a sub-agent, a cron or a heartbeat run: reads PROJECT.md, state.json, todos.json and the decisions that
matter, checks them, and prints one page with the source and the age of each part, and what was committed since.`,
  flags: {
    for: { value: 'TASK', help: 'what it is for, or a hand-off such as HANDOFF-002' },
    'max-tokens': { value: 'N', help: `the most it may cost a model (${BRIEF_TOKENS})` },
  },
  examples: `
    relay project start  # the brief, for a prompt
    relay project start --for "the login form"  # with the decisions and todos about that first
    relay project start --for HANDOFF-002  # for the sub-agent that was given this task
    relay project start --json  # for a program`,
  async ask(project, { io, host, flags }) {
    const max = parseCount(flags['max-tokens'], '--max-tokens', { min: LEAST_TOKENS }) ?? BRIEF_TOKENS;
    const { draft, now } = await coldStart(project, flags.for ?? null);
    const brief = await boundedBrief(draftAsTyped(draft, io.typed), max, now, host.program.countTokens);
    return {
      folder: project.files.folder,
      tokens: { ...brief.tokens, tokenizer: 'o200k_base' },
      omitted: brief.omitted,
      warnings: brief.warnings,
      parts: brief.parts.map(({ title, source, at, lines }) => ({
        title,
        source,
        at: at === null ? null : new Date(at).toISOString(),
        age_seconds: at === null ? null : Math.round((now - at) / 1000),
        lines: lines.map(({ text }) => text),
      })),
      text: brief.text,
    };
  },
  print: ({ text }) => text,
});

const sync = projectCommand({
  stores: true,
  details: `Lists are added to, never replaced, so that parallel sessions do not lose each other's lines. What is done leaves the lists
of what was next, blocked and in progress; a todo that is named by its number is completed.`,
  flags: {
    phase: { value: 'WORDS', help: 'the stage the project is in' },
    task: { value: 'WORDS', help: 'what is being worked on' },
    doing: { value: 'WORDS', mayBeEmpty: true, help: 'the step in progress; empty for none' },
    done: { multiple: true, value: 'STEP', help: 'finished: words, or TODO-003; may be repeated' },
    next: { multiple: true, value: 'STEP', help: 'to do next; may be repeated' },
    blocked: { multiple: true, value: 'STEP', help: 'stuck, and why; may be repeated' },
    drop: { multiple: true, value: 'STEP', help: 'no longer next or blocked, without being done' },
    note: { value: 'WORDS', help: 'the notes for the next session (replaces the last ones)' },
    todo: { multiple: true, value: 'TITLE', help: 'a new todo; may be repeated' },
    decision: { multiple: true, value: '"TITLE: WHAT"', help: 'a decision, appended to decisions.md' },
    session: { value: 'ID', help: 'which session this was' },
    commit: { help: 'commit the project files, and only these' },
  },
  examples: `
    relay project sync --done "login form" --next "password reset"  # a usual end
    relay project sync --done TODO-003 --note "CORS needs a proxy" --commit  # with a todo, a note and a commit
    relay project sync --decision "Use JWT: no sessions on the server"  # with a decision`,
  async ask(project, { flags }) {
    const texts = (name: 'done' | 'next' | 'blocked' | 'drop') =>
      flags[name]?.map((text) => needText(`--${name}`, text));
    const { todos, decisions } = await project.sync({
      phase: flags.phase,
      task: flags.task,
      doing: flags.doing,
      note: flags.note,
      session: flags.session,
      done: texts('done'),
      next: texts('next'),
      blocked: texts('blocked'),
      drop: texts('drop'),
      todos: flags.todo?.map((title) => ({ title: needText('--todo', title) })),
      decisions: flags.decision?.map((text) => splitDecision(text, flags.task)),
    });
    // In the history it could not be taken out any more.
    const commit =
      flags.commit && !holdsSecret(flags)
        ? await project.commit(commitMessage(flags.task ?? flags.done?.[0]))
        : null;
    return { folder: project.files.folder, todos, decisions, commit };
  },
  print: ({ folder, todos, decisions, commit }, _, flags) =>
    [
      `synced ${folder}`,
      ...todos.map(({ id, title }) => `added  ${id}  ${title}`),
      ...decisions.map((id) => `added  ${id}`),
      ...(flags.commit ? [commitLine(commit, flags)] : []),
    ].join('\n'),
});

function splitDecision(text: string, task: string | undefined): NewDecision {
  const found = /^([^:]+):\s*(.+)$/s.exec(text.trim());
  if (!found)
    throw badUsage(
      `A decision needs a title and what was decided: "${text}".`,
      'For example: --decision "Use JWT: no sessions on the server". relay decide takes the rest too.',
    );
  return {
    title: found[1]!,
    decision: found[2]!,
    context: task ? `Came up while working on: ${task}` : 'Noted at the end of a session',
    consequences: 'Not written down yet',
  };
}

function commitLine(commit: string | null, flags: object): string {
  if (commit) return `committed ${commit.slice(0, 9)}`;
  return holdsSecret(flags) ? 'not committed' : 'nothing to commit';
}

function holdsSecret(flags: object): boolean {
  return secretWarning(Object.values(flags)) !== null;
}

function commitMessage(about: string | undefined): string {
  const words = about?.replace(/\s+/g, ' ').slice(0, 60);
  return words ? `project: sync after ${words}` : 'project: sync';
}

const check = projectCommand({
  details: `decisions.md is only ever appended to: every decision that was ever committed, on any branch that was merged, is still there
as it was first written. Where git does not have the file, the seal that relay keeps of every decision it has seen stands in for the
commits (in .relay, on this machine only).`,
  flags: {
    accept: {
      help: 'append a decision that accepts the changes to earlier ones; later changes are told again',
    },
  },
  examples: `
    relay project check  # ends with 1 when something is wrong
    relay project check --accept  # a change to a decision was meant`,
  async ask(project, { flags }) {
    const findings = await project.check({ accept: flags.accept });
    return { ok: !findings.some(({ level }) => level === 'wrong'), folder: project.files.folder, findings };
  },
  print({ folder, findings }, { style }) {
    if (findings.length === 0) return `${style.green('ok')}  ${folder}`;
    const lines = findings.map(({ file, level, what, fix }) => {
      const mark = level === 'wrong' ? style.red('wrong  ') : style.yellow('warning');
      return `${mark}  ${what.includes(file) ? what : `${file}: ${what}`}\n         ${style.dim('→')} ${fix}`;
    });
    return lines.join('\n');
  },
  exit: ({ ok }) => (ok ? 0 : 1),
});

const merge = answerCommand({
  usage: '[<base> <ours> <theirs> <path>]',
  details: `Resolves the conflicts that git left in PROJECT.md, state.json, decisions.md and todos.json: both sides are kept, todos and state
are merged field by field, and equal numbers from two branches are told apart with every reference to them. git does it by itself after
relay install git, which runs this command with the four words of a merge driver.`,
  takes: { min: 0, max: 4 },
  flags: { ...PROJECT_FLAGS, driver: { help: 'merge one file, as git asks a merge driver to' } },
  examples: `
    relay project merge  # after git merge, rebase or cherry-pick stopped
    relay install git  # so that git does it by itself in this repository`,
  async ask(call) {
    const { args, flags, host, io } = call;
    if (!flags.driver) {
      if (args.length > 0) throw badUsage(`"${args[0]}" is one word too many.`, 'Use: relay project merge');
      return (await theProject(call)).merge();
    }
    const [base, ours, theirs, path] = args.map((word) => resolve(io.cwd, word));
    if (!path) throw badUsage('--driver takes four words.', 'Use: relay project merge --driver %O %A %B %P');
    const read = (file: string | undefined) => readFile(file!, 'utf8');
    const sides = { base: await read(base), ours: await read(ours), theirs: await read(theirs) };
    const project = await host.projects.open(dirname(path), { followLinks: flags['follow-links'] });
    const { text, conflict } = await project.mergeFile(basename(path), sides);
    await writeFile(ours!, text);
    return { written: [args[3]!], conflicts: conflict ? [args[3]!] : [], renumbered: [] };
  },
  print({ written, conflicts, renumbered }, { style }) {
    if (written.length === 0) return 'Nothing to merge: no project file has a conflict or a number twice.';
    const lines = written
      .filter((name) => !conflicts.includes(name))
      .map((name) => `${style.green('merged')}    ${name}`);
    for (const name of conflicts) {
      lines.push(
        `${style.red('conflict')}  ${name}: both sides changed the same lines; choose by hand, then git add ${name}`,
      );
    }
    for (const { from, to, side } of renumbered) lines.push(`${from} of ${side} is ${to} now`);
    return lines.join('\n');
  },
  exit: ({ conflicts }) => (conflicts.length > 0 ? 1 : 0),
});

const handoff = projectCommand({
  stores: true,
  usage: '<task>',
  details:
    'Writes the task down and prints the line to give to the child, which remembers nothing of this session.',
  flags: {
    expect: { value: 'OUTPUT', help: 'what should come back' },
    context: { multiple: true, value: 'URL|FILE', help: 'what the child should read; may be repeated' },
    deadline: { value: 'TIME', help: 'how long it may take: 90s, 30m, 2h; then it is shown as overdue' },
  },
  examples: `
    relay project handoff "Port the parser to Rust" --expect "a passing cargo test"  # prints the line for the child
    relay project handoff "Run the tests" --expect "what fails" --deadline 30m  # with half an hour for it
    relay project handoff "Review it" --expect "a list of faults" --context https://…/pull/…  # with a pointer to read`,
  async ask(project, { io, args, flags }) {
    const { folder } = project.files;
    const deadlineMs = parseMilliseconds(flags.deadline, '--deadline');
    if (deadlineMs !== undefined && (deadlineMs < 1_000 || deadlineMs > HANDOFF_DEADLINE_MS))
      throw badUsage('--deadline is from one second to 30 days.', 'For example: --deadline 30m');
    const handoff = await project.handOff({
      task: needText('The task', args[0], { keep: true }),
      expect: (flags.expect ?? '').trim(),
      context: flags.context,
      deadlineMs,
    });
    const relay = io.program('anywhere');
    const due = handoff.deadline ? ` Report by ${handoff.deadline}.` : '';
    const prompt = `You are given ${handoff.id} in ${folder}. Run there: ${relay} project start --for ${handoff.id}.${due} When done, run: ${relay} project report ${handoff.id} --result "…"`;
    return { ...handoff, folder, prompt };
  },
  print: ({ prompt }) => prompt,
});

const report = projectCommand({
  stores: true,
  usage: '[id]',
  details: 'Without an id the only open hand-off is meant. RELAY_HANDOFF may name it too.',
  flags: {
    result: { value: 'TEXT', help: 'what came out' },
    artifact: { multiple: true, value: 'URL|FILE', help: 'where the rest is; may be repeated' },
    failed: { help: 'it did not work; the result says why' },
  },
  examples: `
    relay project report HANDOFF-002 --result "ported; 41 tests pass"  # it is done
    relay project report --result "no access to the registry" --failed  # it did not work`,
  ask: (project, { io, args, flags }) =>
    project.report(args[0] ?? (io.env.RELAY_HANDOFF || null), {
      result: needText('--result', flags.result, { keep: true }),
      artifacts: flags.artifact,
      failed: flags.failed,
    }),
  print: ({ id, status }, io) =>
    io.typed(`${id} is ${status}. Its parent reads it with: relay project result ${id}`),
});

type Told = Handoff & { readonly overdue: boolean };

const result = projectCommand({
  usage: '[id]',
  details: `Without an id, the newest hand-off. The exit code is 0 where it is done, 1 where it failed and 5 while it is open, also when its
deadline has passed.`,
  flags: {
    all: { help: 'list every hand-off' },
    wait: { help: 'wait for the result, until the deadline of the hand-off at most' },
    timeout: { value: 'TIME', help: 'with --wait: so long at most: 90s, 15m, 2h (10m)' },
  },
  examples: `
    relay project result HANDOFF-002  # the result of one
    relay project result HANDOFF-002 --wait  # as soon as it is there
    relay project result --all  # where all of them stand`,
  async ask(project, { args, flags }): Promise<{ handoffs: readonly Told[] } | Told> {
    const told = (handoff: Handoff) => ({ ...handoff, overdue: isOverdue(handoff, Date.now()) });
    if (flags.all) return { handoffs: (await project.read()).handoffs.map(told) };
    const wait = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    return told(await project.result(args[0] ?? null, flags.wait ? Date.now() + wait : 0));
  },
  print(answer) {
    if (!('handoffs' in answer)) return inWords(answer);
    const lines = answer.handoffs.map(
      ({ id, status, overdue, task }) =>
        `${id}  ${(overdue ? 'overdue' : status).padEnd(7)}  ${plainLine(task, 80)}`,
    );
    return lines.join('\n') || 'No hand-offs.';
  },
  exit: (answer) => ('handoffs' in answer ? EXIT.ok : EXITS[answer.status]),
});

const EXITS = { done: EXIT.ok, failed: EXIT.failed, open: EXIT.unreachable };

function inWords({ id, status, overdue, deadline, task, result, artifacts }: Told): string {
  if (overdue) return `${id} is overdue, its deadline was ${deadline}: ${plainLine(task)}`;
  if (status === 'open') return `${id} is still open: ${plainLine(task)}`;
  return [
    `${id} ${status}: ${plainLine(task)}`,
    '',
    result ?? '',
    ...artifacts.map((item) => `- ${item}`),
  ].join('\n');
}

const decide = projectCommand({
  stores: true,
  usage: '<title>',
  details:
    'Decisions are numbered and never changed. A new one replaces an old one by saying so: --supersedes ADR-002.',
  flags: {
    context: { value: 'TEXT', help: 'what made it necessary' },
    decision: { value: 'TEXT', help: 'what was decided' },
    consequences: { value: 'TEXT', help: 'what follows from it, good and bad' },
    status: { value: 'WORD', help: 'Accepted by default; Proposed, Rejected, …' },
    supersedes: { multiple: true, value: 'ADR', help: 'the decision it replaces; may be repeated' },
  },
  examples: `
    relay decide "Use JWT" --context "stateless servers" --decision "JWT and refresh tokens" --consequences "revocation needs a list"  # prints its number`,
  async ask(project, { args, flags }) {
    const decision = {
      title: needText('The title', args[0]),
      context: needText('--context', flags.context, { keep: true }),
      decision: needText('--decision', flags.decision, { keep: true }),
      consequences: needText('--consequences', flags.consequences, { keep: true }),
      status: flags.status,
      supersedes: flags.supersedes,
    };
    return { id: await project.decide(decision), title: decision.title };
  },
  print: ({ id, title }) => `${id}  ${title}`,
});

export const commands = { init, start, sync, check, merge, handoff, report, result, decide };
