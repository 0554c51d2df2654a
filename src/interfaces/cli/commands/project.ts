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
import { LINKS_FLAG, needText, PROJECT_FLAGS, projectCommand, theProject } from '../project-call.ts';

const init = answerCommand({
  usage: '[dir]',
  details: `Fills in name, description, stack and folders from package.json, pyproject.toml, Cargo.toml, go.mod, the README and
git. Guesses are marked "(guessed from …)" until you edit them. Decisions that already have their own files, such as docs/adr/0001-use-sqlite.md, are linked in decisions.md. Does not change existing files. If state.json or todos.json belongs to another program, the files
are created in .relay instead. Commands and hooks find them there.`,
  flags: {
    force: { help: 'overwrite existing files; their content is lost' },
    files: {
      value: 'DIR',
      help: 'folder for the files, relative to the project; stored in .relay/project.json',
    },
    ...LINKS_FLAG,
  },
  examples: `
    relay project init  # create the files in this folder
    relay project init ../api  # create them in another folder, which is created if it is missing
    relay project init --files docs/relay  # keep them in a subfolder`,
  async ask({ io, host, flags, args }) {
    const folder = resolve(io.cwd, args[0] ?? '.');
    const o = { followLinks: flags['follow-links'], files: flags.files };
    const project = await host.projects.create(folder, o);
    return { folder, place: project.files.place, ...(await project.init({ force: flags.force })) };
  },
  print: ({ written, kept, place }, { style, typed }) =>
    [
      ...written.map((name) => `${style.green('wrote')}  ${place}${name}`),
      ...kept.map((name) => `${style.dim('kept')}   ${place}${name} ${style.dim('(it exists already)')}`),
      '',
      written.length > 0
        ? typed(
            `Check ${place}PROJECT.md: correct the lines marked "(guessed from …)" or delete the mark. Then start each session with: relay project start`,
          )
        : 'Nothing to do. Use --force to overwrite the files.',
    ].join('\n'),
});

const start = projectCommand({
  details: `Run it at the start of a session, a sub-agent or a scheduled job. It checks PROJECT.md, state.json, todos.json and
decisions.md, and prints one page with the important parts, the source and age of each part, and the commits since the
last relay project sync.`,
  flags: {
    for: {
      value: 'TASK',
      help: 'task, or hand-off such as HANDOFF-002, that the session works on; its decisions and todos come first',
    },
    'max-tokens': { value: 'N', help: `maximum length of the brief in tokens (${BRIEF_TOKENS})` },
  },
  examples: `
    relay project start  # print the brief
    relay project start --for "the login form"  # put parts about this task first
    relay project start --for HANDOFF-002  # print the brief for a handed-off task
    relay project start --json  # print the brief as JSON`,
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
  details: `Run it at the end of a session. It changes only the entries you name and keeps the rest of each list, so parallel sessions do not
overwrite each other. A step passed with --done is removed from the next, blocked and in-progress lists. --done TODO-003 completes
that todo.`,
  flags: {
    phase: { value: 'TEXT', help: 'phase of the project' },
    task: { value: 'TEXT', help: 'current task' },
    doing: { value: 'TEXT', mayBeEmpty: true, help: 'step in progress; an empty text clears it' },
    done: { multiple: true, value: 'STEP', help: 'finished step or todo, such as TODO-003' },
    next: { multiple: true, value: 'STEP', help: 'next step' },
    blocked: {
      multiple: true,
      value: 'STEP',
      help: 'blocked step; write the reason in the same text, such as "deploy: no access"',
    },
    drop: { multiple: true, value: 'STEP', help: 'remove a step from the next and blocked lists' },
    note: { value: 'TEXT', help: 'note for the next session; replaces the last note' },
    todo: { multiple: true, value: 'TITLE', help: 'add a todo' },
    decision: { multiple: true, value: '"TITLE: TEXT"', help: 'append a decision to decisions.md' },
    session: { value: 'ID', help: 'store this session id in state.json' },
    commit: { help: 'commit the project files and nothing else' },
  },
  examples: `
    relay project sync --done "login form" --next "password reset"  # record progress
    relay project sync --done TODO-003 --note "CORS needs a proxy" --commit  # complete a todo, add a note, commit
    relay project sync --decision "Use JWT: no sessions on the server"  # record a decision`,
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
    // Do not commit a secret: it would stay in the git history.
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
      `--decision needs a title, a colon and a text: "${text}".`,
      'For example: --decision "Use JWT: no sessions on the server". Use relay decide for more details.',
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
  const subject = about?.replace(/\s+/g, ' ').slice(0, 60);
  return subject ? `project: sync after ${subject}` : 'project: sync';
}

const check = projectCommand({
  details: `Decisions must not change after they are recorded. The check compares decisions.md with all versions in the git
history. If git does not track the file, it compares with the hashes that relay stores in .relay on this machine. The exit
code is 1 if something is wrong.`,
  flags: {
    accept: {
      help: 'accept the changed decisions; this is recorded as a new decision. Later changes are reported again',
    },
  },
  examples: `
    relay project check  # check the project files
    relay project check --accept  # accept changes to decisions`,
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
  details: `Merges PROJECT.md, state.json, decisions.md and todos.json and keeps the changes of both sides. Todos and state are
merged field by field. If both branches used the same number for different entries, the older entry keeps it. In the other branch,
that entry and the new entries after it get higher numbers, and references to them are updated.
If both sides changed the same lines, the conflict
stays in the file and the exit code is 1. After relay install git, git runs this command automatically as a merge driver.`,
  takes: { min: 0, max: 4 },
  flags: { ...PROJECT_FLAGS, driver: { help: 'merge one file; used by git as a merge driver' } },
  examples: `
    relay project merge  # resolve conflicts after git merge, rebase or cherry-pick
    relay install git  # let git merge the project files automatically`,
  async ask(call) {
    const { args, flags, host, io } = call;
    if (!flags.driver) {
      if (args.length > 0)
        throw badUsage(`The argument "${args[0]}" needs --driver.`, 'Use: relay project merge');
      return (await theProject(call)).merge();
    }
    const [base, ours, theirs, path] = args.map((word) => resolve(io.cwd, word));
    if (!path)
      throw badUsage('--driver needs four arguments.', 'Use: relay project merge --driver %O %A %B %P');
    const read = (file: string | undefined) => readFile(file!, 'utf8');
    const sides = { base: await read(base), ours: await read(ours), theirs: await read(theirs) };
    const project = await host.projects.open(dirname(path), { followLinks: flags['follow-links'] });
    const { text, conflict } = await project.mergeFile(basename(path), sides);
    await writeFile(ours!, text);
    return { written: [args[3]!], conflicts: conflict ? [args[3]!] : [], renumbered: [] };
  },
  print({ written, conflicts, renumbered }, { style }) {
    if (written.length === 0)
      return 'Nothing to merge: no project file has a conflict or a duplicate number.';
    const lines = written
      .filter((name) => !conflicts.includes(name))
      .map((name) => `${style.green('merged')}    ${name}`);
    for (const name of conflicts) {
      lines.push(
        `${style.red('conflict')}  ${name}: both sides changed the same lines; edit the file, then run git add ${name}`,
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
    'Records the task in state.json and prints a prompt for the sub-agent, which has no memory of this session. To hand the whole work to another agent, use relay handoff.',
  flags: {
    expect: { value: 'OUTPUT', help: 'the expected result' },
    context: { multiple: true, value: 'URL|FILE', help: 'what the sub-agent should read' },
    deadline: { value: 'TIME', help: 'mark the task as overdue after 90s, 30m, 2h' },
  },
  examples: `
    relay project handoff "Port the parser to Rust" --expect "a passing cargo test"  # print the prompt for the sub-agent
    relay project handoff "Run the tests" --expect "what fails" --deadline 30m  # set a deadline
    relay project handoff "Review it" --expect "a list of faults" --context https://…/pull/…  # add a pointer to read`,
  async ask(project, { io, args, flags }) {
    const { folder } = project.files;
    const deadlineMs = parseMilliseconds(flags.deadline, '--deadline');
    if (deadlineMs !== undefined && (deadlineMs < 1_000 || deadlineMs > HANDOFF_DEADLINE_MS))
      throw badUsage('--deadline must be between one second and 30 days.', 'For example: --deadline 30m');
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
  usage: '[id] --result TEXT',
  details: 'Without an id it uses RELAY_HANDOFF, or the open hand-off if exactly one is open.',
  flags: {
    result: { value: 'TEXT', help: 'the result, or the reason for a failure' },
    artifact: {
      multiple: true,
      value: 'URL|FILE',
      help: 'pointer or file with more results',
    },
    failed: { help: 'report that the task failed' },
  },
  examples: `
    relay project report HANDOFF-002 --result "ported; 41 tests pass"  # report success
    relay project report --result "no access to the registry" --failed  # report a failure`,
  ask: (project, { io, args, flags }) =>
    project.report(args[0] ?? (io.env.RELAY_HANDOFF || null), {
      result: needText('--result', flags.result, { keep: true }),
      artifacts: flags.artifact,
      failed: flags.failed,
    }),
  print: ({ id, status }, io) =>
    io.typed(`${id} is ${status}. Its parent reads it with: relay project result ${id}`),
});

type HandoffStatus = Handoff & { readonly overdue: boolean };

const result = projectCommand({
  usage: '[id]',
  details: `Without an id it shows the newest hand-off. The exit code is 0 if the task is done, 1 if it failed and 5 while it is
open or overdue.`,
  flags: {
    all: { help: 'list all hand-offs' },
    wait: { help: 'wait until the result, the deadline or --timeout, whichever comes first' },
    timeout: { value: 'TIME', help: 'with --wait: maximum time, such as 90s, 15m, 2h (10m)' },
  },
  examples: `
    relay project result HANDOFF-002  # show the result of a hand-off
    relay project result HANDOFF-002 --wait  # wait for the result
    relay project result --all  # list all hand-offs with their status`,
  async ask(project, { args, flags }): Promise<{ handoffs: readonly HandoffStatus[] } | HandoffStatus> {
    const addOverdue = (handoff: Handoff) => ({ ...handoff, overdue: isOverdue(handoff, Date.now()) });
    if (flags.all) return { handoffs: (await project.read()).handoffs.map(addOverdue) };
    const wait = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    return addOverdue(await project.result(args[0] ?? null, flags.wait ? Date.now() + wait : 0));
  },
  print(answer) {
    if (!('handoffs' in answer)) return formatHandoff(answer);
    const lines = answer.handoffs.map(
      ({ id, status, overdue, task }) =>
        `${id}  ${(overdue ? 'overdue' : status).padEnd(7)}  ${plainLine(task, 80)}`,
    );
    return lines.join('\n') || 'No hand-offs.';
  },
  exit: (answer) => ('handoffs' in answer ? EXIT.ok : EXITS[answer.status]),
});

const EXITS = { done: EXIT.ok, failed: EXIT.failed, open: EXIT.unreachable };

function formatHandoff({ id, status, overdue, deadline, task, result, artifacts }: HandoffStatus): string {
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
  usage: '<title> --context TEXT --decision TEXT --consequences TEXT',
  details:
    'Decisions are numbered and never changed. To replace an old decision, record a new one with --supersedes ADR-002.',
  flags: {
    context: { value: 'TEXT', help: 'why a decision was needed' },
    decision: { value: 'TEXT', help: 'what was decided' },
    consequences: { value: 'TEXT', help: 'good and bad consequences' },
    status: { value: 'WORD', help: 'Proposed, Accepted, Rejected, … (Accepted)' },
    supersedes: {
      multiple: true,
      value: 'ADR',
      help: 'the decision that this one replaces',
    },
  },
  examples: `
    relay decide "Use JWT" --context "stateless servers" --decision "JWT and refresh tokens" --consequences "revocation needs a list"  # record a decision and print its number`,
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
