import type { ThreadInfo } from '../../../contract/threads/answers.ts';
import type { State } from '../../../contract/threads/state.ts';
import type { Stats } from '../../../contract/threads/tokens.ts';
import { answerCommand } from '../command.ts';
import { count, moment, rows } from '../human.ts';
import type { Io } from '../io.ts';
import { plain, short } from './event-line.ts';
import { openThread, THREAD_FLAG } from './thread-choice.ts';

/** Of each list, as many as a screen holds. */
const SHOWN = 8;

export default answerCommand({
  usage: '[<id>]',
  details: 'A summary for people. What goes into a prompt is relay state header; all there is, relay report.',
  flags: THREAD_FLAG,
  examples: [
    ['relay show', 'the thread used last'],
    ['relay show 550e84', 'another one, by the beginning of its id'],
  ],
  async ask(call) {
    const { threads, id } = await openThread(call, { word: call.args[0], quiet: true });
    const info = await threads.get(id);
    const state = await threads.state(id, { counted: false });
    return { ...info, state_ref: `v${info.state_version}`, stats: await threads.stats(id), state };
  },
  print: (answer, io) => summary(io, answer, answer.state, answer.stats),
});

function summary(io: Io, info: ThreadInfo, state: State, stats: Stats): string {
  const { style } = io;
  const when = (iso: string) => (io.interactive ? moment(iso) : iso);
  const facts: [string, string][] = [['thread_id', info.thread_id]];
  if (info.name !== '') facts.push(['name', plain(info.name)]);
  facts.push(
    ['created', when(info.created_at)],
    ['state_ref', `v${info.state_version}, ${when(state.updated_at)}`],
    ['artifacts', count(info.artifact_count)],
    ['events', count(info.event_count)],
  );
  if (info.hop_count > 0) facts.push(['hops', count(info.hop_count)]);
  if (stats.artifacts > 0)
    facts.push(['tokens avoided', `${count(stats.avoided_tokens)} (${stats.tokenizer})`]);
  const room = io.width - 4;
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const open = state.open_questions.filter(({ status }) => (status ?? 'open') === 'open');
  const pending = state.plan.filter(({ status }) => (status ?? 'pending') === 'pending');
  const refs = state.artifacts.map(({ ref, type, name }) => [ref, type, name].filter(Boolean).join(' · '));
  // Of facts, decisions and artifacts the newest first.
  const lists: [string, string[]][] = [
    ['Summary', state.session_summary ? [state.session_summary] : []],
    ['Facts', state.facts.map(({ key, value }) => `${key}: ${text(value)}`).reverse()],
    ['Constraints', state.constraints.map(({ description }) => description)],
    ['Decisions', state.decisions.map(({ description }) => description).reverse()],
    ['Open questions', open.map(({ question }) => question)],
    ['Next steps', pending.map(({ step }) => step)],
    ['Artifacts', refs.reverse()],
  ];
  const lines = [rows(style.dim, facts)];
  for (const [title, items] of lists) {
    if (items.length === 0) continue;
    lines.push('', style.bold(title), ...items.slice(0, SHOWN).map((item) => `  ${short(item, room)}`));
    if (items.length > SHOWN) lines.push(style.dim(`  … ${count(items.length - SHOWN)} more`));
  }
  return lines.join('\n');
}
