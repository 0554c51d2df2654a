import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { State } from '../../contract/threads/state.ts';
import type { Stats } from '../../contract/threads/tokens.ts';
import { oneLine } from '../../text/frame.ts';
import { listArtifacts, putArtifact } from './artifacts.ts';
import type { ThreadVerb } from './thread-log.ts';
import { listThreads } from './threads.ts';
import { sumStats } from './token-ledger.ts';

/** Artifacts that a report lists one by one. */
const LISTED = 1_000;

export const threadStats: ThreadVerb<'stats'> = async (log, caller, id) => {
  await log.ledger.flush();
  return log.ledger.statsOf(await log.head(caller, id));
};

/** Over all threads of the caller. */
export const totalStats: ThreadVerb<'totals'> = async (log, caller) => {
  const all: Stats[] = [];
  let after: string | undefined;
  do {
    const page = await listThreads(log, caller, { after });
    for (const { thread_id } of page.threads) all.push(await threadStats(log, caller, thread_id));
    after = page.next;
  } while (after !== undefined);
  return sumStats(all);
};

/** Describes a thread in one document, which becomes an artifact of it. */
export const makeReport: ThreadVerb<'report'> = async (log, caller, id, { format = 'md' } = {}) => {
  const meta = await log.meta(caller, id);
  const head = await log.head(caller, id);
  const stats = await threadStats(log, caller, id);
  const { artifacts } = await listArtifacts(log, caller, id, { limit: LISTED });
  const told: Told = { name: meta.name, state: head.state, events: head.count, stats, artifacts };
  const text = format === 'md' ? markdown(told) : JSON.stringify(document(told), null, 2);
  const { ref, size } = await putArtifact(log, caller, id, {
    body: new TextEncoder().encode(text),
    name: `report-v${head.version}.${format}`,
    type: format === 'md' ? 'markdown' : 'json',
  });
  const payload = { by: caller.name, ref, format, state_version: head.version };
  await log.note(caller, id, { type: 'report.generated', at: log.deps.env.now(), payload });
  const { naive_tokens, actual_tokens, avoided_tokens, tokenizer } = stats;
  const token_savings = { naive_tokens, actual_tokens, avoided_tokens, tokenizer };
  return { artifact_ref: ref, format, size, thread_id: id, token_savings };
};

interface Told {
  readonly name: string;
  readonly state: State;
  readonly events: number;
  readonly stats: Stats;
  readonly artifacts: readonly Artifact[];
}

function document({ name, state, events, stats, artifacts }: Told): object {
  const listed = artifacts.map(({ ref, type, name: title, size, hash, tokens, created_at, provenance }) => ({
    ref,
    type,
    name: title,
    size,
    hash,
    tokens,
    created_at,
    created_by: provenance.created_by,
  }));
  return { thread_id: state.thread_id, name, events, state, artifacts: listed, stats };
}

function markdown({ name, state, events, stats, artifacts }: Told): string {
  const lines = [`# ${oneLine(name) || 'Thread'} ${state.thread_id}`, ''];
  lines.push(`State v${state.version}, updated ${state.updated_at}; ${events} events.`, '');
  const section = (title: string, items: readonly string[]) => {
    if (items.length > 0) lines.push(`## ${title}`, '', ...items, '');
  };
  if (state.session_summary) section('Summary', [state.session_summary]);
  const signed = (at?: string, by?: string) => (at || by ? ` (${[by, at].filter(Boolean).join(', ')})` : '');
  const short = (value: unknown) => oneLine(typeof value === 'string' ? value : JSON.stringify(value), 500);
  section(
    'Facts',
    state.facts.map((f) => `- **${short(f.key)}**: ${short(f.value)}${signed(f.at, f.by)}`),
  );
  section(
    'Constraints',
    state.constraints.map((c) => `- ${short(c.description)}${c.severity ? ` [${short(c.severity)}]` : ''}`),
  );
  section(
    'Decisions',
    state.decisions.map((d) => `- ${short(d.description)}${signed(d.at, d.by)}`),
  );
  section(
    'Open questions',
    state.open_questions.map((q) => `- ${short(q.question)} (${short(q.status ?? 'open')})`),
  );
  section(
    'Plan',
    state.plan.map((p) => `- ${short(p.step)} (${short(p.status ?? 'pending')})`),
  );
  section(
    'Last actions',
    state.last_actions.map((a) => `- ${a.at ?? ''} ${short(a.description)}`),
  );
  if (artifacts.length > 0) {
    section('Artifacts', [
      '| ref | name | type | bytes | tokens | by |',
      '|---|---|---|---:|---:|---|',
      ...artifacts.map((a) => {
        const cells = [
          a.ref,
          oneLine(a.name),
          a.type,
          a.size,
          a.tokens.content,
          oneLine(a.provenance.created_by),
        ];
        return `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
      }),
    ]);
  }
  section('Tokens', [
    `Counted with ${stats.tokenizer}${stats.estimated ? ', some of it estimated' : ''}.`,
    '',
    '| | tokens |',
    '|---|---:|',
    `| pasted once | ${stats.naive_tokens} |`,
    `| headers read (${stats.breakdown.header_reads}) | ${stats.breakdown.headers} |`,
    `| previews (${stats.breakdown.preview_reads}) | ${stats.breakdown.previews} |`,
    `| contents pulled (${stats.breakdown.pull_reads}) | ${stats.breakdown.pulls} |`,
    `| avoided | ${stats.avoided_tokens} |`,
  ]);
  return `${lines.join('\n').trimEnd()}\n`;
}
