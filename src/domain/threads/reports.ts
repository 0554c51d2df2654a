import type { Artifact, ArtifactInput, State, Stats } from '../../contract/threads.ts';
import { oneLine } from '../../text/frame.ts';
import { listArtifacts, putArtifact } from './artifacts.ts';
import { versionRef } from './state.ts';
import { tenantFigures } from './tenant-totals.ts';
import type { ThreadVerb } from './thread-log.ts';
import { sumStats } from './token-ledger.ts';

/** Maximum number of artifacts listed in a report. */
const MAX_ARTIFACTS = 1_000;

/** Returns the token figures of a thread. */
export const threadStats: ThreadVerb<'stats'> = async (log, caller, id) => {
  await log.ledger.flush();
  return log.ledger.statsOf(await log.head(caller, id));
};

/** Records that a client showed a part of the thread to a model. */
export const recordShown: ThreadVerb<'shown'> = async (log, caller, id, { what, tokens }) => {
  const { root } = await log.meta(caller, id);
  log.ledger.recordRead(root, what, tokens);
};

/** Returns the token figures summed over the threads of the caller's tenant (see `tenantFigures`). */
export const totalStats: ThreadVerb<'totals'> = async (log, { tenant }) => {
  await log.ledger.flush();
  const figures = await tenantFigures(log.deps, tenant, async (id) => {
    const found = await log.find(tenant, id);
    const head = found && (await log.heads.load(found.root));
    if (!head) return null;
    const { thread_id: _, recent_prompts: __, ...rest } = await log.ledger.statsOf(head);
    return rest;
  });
  return sumStats(figures);
};

/** Generates a report of a thread and stores it as an artifact. */
export const makeReport: ThreadVerb<'report'> = async (log, caller, id, { format = 'md' } = {}) => {
  const meta = await log.meta(caller, id);
  const head = await log.head(caller, id);
  const stats = await threadStats(log, caller, id);
  const { artifacts } = await listArtifacts(log, caller, id, { limit: MAX_ARTIFACTS, counted: false });
  const data: ReportData = { name: meta.name, state: head.state, events: head.count, stats, artifacts };
  const text = format === 'md' ? reportMarkdown(data) : JSON.stringify(reportJson(data), null, 2);
  const input: ArtifactInput = {
    body: new TextEncoder().encode(text),
    name: `report-v${head.version}.${format}`,
    type: format === 'md' ? 'markdown' : 'json',
    source_refs: [versionRef(head.version)],
  };
  const { ref, size } = await putArtifact(log, caller, id, input, { report: true });
  const payload = { by: caller.name, ref, format, state_version: head.version };
  await log.note(caller, id, { type: 'report.generated', at: log.deps.env.now(), payload });
  const { naive_tokens, actual_tokens, avoided_tokens, tokenizer } = stats;
  const token_savings = { naive_tokens, actual_tokens, avoided_tokens, tokenizer };
  return { artifact_ref: ref, format, size, thread_id: id, token_savings };
};

interface ReportData {
  readonly name: string;
  readonly state: State;
  readonly events: number;
  readonly stats: Stats;
  readonly artifacts: readonly Artifact[];
}

function reportJson({ name, state, events, stats, artifacts }: ReportData): object {
  const rows = artifacts.map(({ ref, type, name: title, size, hash, tokens, created_at, provenance }) => ({
    ref,
    type,
    name: title,
    size,
    hash,
    tokens,
    created_at,
    created_by: provenance.created_by,
  }));
  return { thread_id: state.thread_id, name, events, state, artifacts: rows, stats };
}

function reportMarkdown({ name, state, events, stats, artifacts }: ReportData): string {
  const signed = (at?: string, by?: string) => (at || by ? ` (${[by, at].filter(Boolean).join(', ')})` : '');
  const short = (value: unknown) => oneLine(typeof value === 'string' ? value : JSON.stringify(value), 500);
  const sections: [title: string, items: readonly string[]][] = [
    ['Summary', state.session_summary ? [state.session_summary] : []],
    ['Facts', state.facts.map((f) => `- **${short(f.key)}**: ${short(f.value)}${signed(f.at, f.by)}`)],
    [
      'Constraints',
      state.constraints.map((c) => `- ${short(c.description)}${c.severity ? ` [${short(c.severity)}]` : ''}`),
    ],
    ['Decisions', state.decisions.map((d) => `- ${short(d.description)}${signed(d.at, d.by)}`)],
    [
      'Open questions',
      state.open_questions.map((q) => `- ${short(q.question)} (${short(q.status ?? 'open')})`),
    ],
    ['Plan', state.plan.map((p) => `- ${short(p.step)} (${short(p.status ?? 'pending')})`)],
    ['Last actions', state.last_actions.map((a) => `- ${a.at ?? ''} ${short(a.description)}`)],
    ['Artifacts', artifacts.length > 0 ? artifactTable(artifacts) : []],
    ['Tokens', tokenTable(stats)],
  ];
  const text = sections
    .filter(([, items]) => items.length > 0)
    .map(([title, items]) => `## ${title}\n\n${items.join('\n')}\n`)
    .join('\n');
  const heading = `# ${oneLine(name) || 'Thread'} ${state.thread_id}`;
  return `${heading}\n\nState v${state.version}, updated ${state.updated_at}; ${events} events.\n\n${text.trimEnd()}\n`;
}

function artifactTable(artifacts: readonly Artifact[]): string[] {
  const rows = artifacts.map(({ ref, name, type, size, tokens, provenance }) => {
    const cells = [ref, oneLine(name), type, size, tokens.content, oneLine(provenance.created_by)];
    return `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return ['| ref | name | type | bytes | tokens | by |', '|---|---|---|---:|---:|---|', ...rows];
}

function tokenTable({ prompts, ...stats }: Stats): string[] {
  return [
    `Counted with ${stats.tokenizer}${stats.estimated ? ', partly estimated' : ''}.`,
    '',
    '| | tokens |',
    '|---|---:|',
    `| contents of all artifacts | ${stats.naive_tokens} |`,
    `| previews of all artifacts | ${stats.actual_tokens} |`,
    `| saved by previews | ${stats.avoided_tokens} |`,
    ...(prompts
      ? [
          `| ${prompts.prompts} prompts with everything pasted | ${prompts.pasted_tokens} |`,
          `| shown to models instead | ${prompts.shown_tokens} |`,
          `| saved in prompts | ${prompts.avoided_tokens} |`,
        ]
      : []),
  ];
}
