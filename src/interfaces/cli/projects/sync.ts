import type { NewDecision } from '../../../client/projects/decisions.ts';
import { secretWarning } from '../../../client/projects/secret-warning.ts';
import { badUsage } from '../command.ts';
import { needText, projectCommand } from './project-call.ts';

export default projectCommand({
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
  examples: [
    ['relay project sync --done "login form" --next "password reset"', 'a usual end'],
    [
      'relay project sync --done TODO-003 --note "CORS needs a proxy" --commit',
      'with a todo, a note and a commit',
    ],
    ['relay project sync --decision "Use JWT: no sessions on the server"', 'with a decision'],
  ],
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
  if (!found) {
    throw badUsage(
      `A decision needs a title and what was decided: "${text}".`,
      'For example: --decision "Use JWT: no sessions on the server". relay decide takes the rest too.',
    );
  }
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
