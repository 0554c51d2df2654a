import type { Caller } from '../../contract/caller.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { State } from '../../contract/threads/state.ts';
import type { ReportAnswer, ReportFormat, Stats } from '../../contract/threads/tokens.ts';
import { oneLine } from '../../text/frame.ts';
import type { Deps } from '../deps.ts';
import type { Artifacts } from './artifacts.ts';
import type { StoredEvent } from './event.ts';
import type { ThreadLog } from './thread-log.ts';
import type { TokenLedger } from './token-ledger.ts';

/** Artifacts that a report lists one by one. */
const LISTED = 1_000;

/** Describes a thread in one document, which becomes an artifact of it. */
export class Reports {
  readonly #deps: Deps;
  readonly #log: ThreadLog;
  readonly #artifacts: Artifacts;
  readonly #ledger: TokenLedger;

  constructor(deps: Deps, log: ThreadLog, artifacts: Artifacts, ledger: TokenLedger) {
    this.#deps = deps;
    this.#log = log;
    this.#artifacts = artifacts;
    this.#ledger = ledger;
  }

  async make(caller: Caller, id: string, format: ReportFormat): Promise<ReportAnswer> {
    const meta = await this.#log.meta(caller, id);
    const head = await this.#log.head(caller, id);
    const stats = await this.#ledger.stats(caller, id);
    const { artifacts } = await this.#artifacts.list(caller, id, { limit: LISTED });
    const told: Told = { name: meta.name, state: head.state, events: head.count, stats, artifacts };
    const text = format === 'md' ? markdown(told) : JSON.stringify(document(told), null, 2);
    const artifact = await this.#artifacts.put(caller, id, {
      body: new TextEncoder().encode(text),
      name: `report-v${head.version}.${format}`,
      type: format === 'md' ? 'markdown' : 'json',
    });
    const { ref, size } = artifact;
    const payload = { by: caller.name, ref, format, state_version: head.version };
    const event: StoredEvent = { type: 'report.generated', at: this.#deps.env.now(), payload };
    await this.#log.note(caller, id, () => event);
    const { naive_tokens, actual_tokens, avoided_tokens, tokenizer } = stats;
    const token_savings = { naive_tokens, actual_tokens, avoided_tokens, tokenizer };
    return { artifact_ref: ref, format, size, thread_id: id, token_savings };
  }
}

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
