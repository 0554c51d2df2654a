import { count, plural } from '../../../src/base/format.ts';
import type { PromptFigures, Stats } from '../../../src/contract/threads.ts';
import { Command } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { Facts, Figure } from '../../parts/page-head.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';

const PROMPT_COLUMNS: readonly Column<PromptFigures & { readonly key: string }>[] = [
  { title: 'When', width: '88px', cell: ({ at }) => <Ago at={at} /> },
  { title: 'Kind', width: '104px', cell: ({ kind }) => kind.replace('_', ' '), wide: true },
  { title: 'By', width: 'minmax(0, 1fr)', cell: ({ by }) => <ForeignText text={by || '–'} max={80} /> },
  {
    title: 'If pasted',
    width: '84px',
    cell: ({ pasted_tokens }) => count(pasted_tokens),
    figure: true,
    wide: true,
  },
  { title: 'Sent', width: '84px', cell: ({ shown_tokens }) => count(shown_tokens), figure: true },
  { title: 'Saved', width: '84px', cell: ({ avoided_tokens }) => count(avoided_tokens), figure: true },
];

/** Tokens sent to models, compared with the cost of pasting everything. */
export function LedgerTab({ id }: { id: string }) {
  const stats = useAsked((relay) => relay.threads.stats(id), [id], { live: ({ thread }) => thread === id });
  return <Answer of={stats}>{(value) => <Ledger id={id} stats={value} />}</Answer>;
}

function Ledger({ id, stats }: { id: string; stats: Stats }) {
  const { prompts, breakdown } = stats;
  const reads = [
    ['Headers', breakdown.headers, breakdown.header_reads],
    ['States', breakdown.states, breakdown.state_reads],
    ['Previews', breakdown.previews, breakdown.preview_reads],
    ['Lists', breakdown.listings, breakdown.listing_reads],
    ['Searches', breakdown.searches, breakdown.search_reads],
    ['Pulled contents', breakdown.pulls, breakdown.pull_reads],
  ] as const;
  return (
    <>
      {prompts ? (
        <div class="figures">
          <Figure
            name="Saved"
            value={count(prompts.avoided_tokens)}
            foot="compared with pasting everything"
          />
          <Figure
            name="If pasted"
            value={count(prompts.pasted_tokens)}
            foot={`tokens in ${count(prompts.prompts)} prompts`}
          />
          <Figure
            name="Sent to models"
            value={count(prompts.shown_tokens)}
            foot={`counted with ${stats.tokenizer}${stats.estimated ? ', partly estimated' : ''}`}
          />
          <Figure
            name="Billed input"
            value={count(stats.billed.input_tokens)}
            foot={
              stats.billed.input_tokens > 0
                ? `${count(stats.billed.cached_input_tokens)} from a cache`
                : 'no provider was called'
            }
          />
        </div>
      ) : (
        <Empty title="No prompts from this thread yet.">
          <Command line={`relay run "what is next?" --thread ${id}`} about="Ask a model:" />
        </Empty>
      )}
      <div class="columns even">
        <section class="panel" aria-labelledby="contents">
          <h2 id="contents">Contents and previews</h2>
          <Facts
            rows={[
              ['Artifacts', count(stats.artifacts)],
              ['All contents', count(stats.naive_tokens)],
              ['All previews', count(stats.actual_tokens)],
              ['Difference', count(stats.avoided_tokens)],
              ['Cache hits', `${count(stats.cache_hits)} (${count(stats.session_cache_hits)} in a session)`],
            ]}
          />
        </section>
        <section class="panel" aria-labelledby="reads">
          <h2 id="reads">Read outside prompts</h2>
          <Facts
            rows={reads.map(([name, tokens, times]) => [
              name,
              times === 0 ? (
                <span class="soft">none</span>
              ) : (
                <>
                  {count(tokens)} <span class="soft">in {plural(times, 'read')}</span>
                </>
              ),
            ])}
          />
        </section>
      </div>
      {stats.recent_prompts.length > 0 && (
        <>
          <h2 class="spaced">Recent prompts</h2>
          <Table
            label="Recent prompts, newest first"
            columns={PROMPT_COLUMNS}
            rows={stats.recent_prompts.map((one, at) => ({ ...one, key: `${one.at} ${at}` }))}
            keyOf={({ key }) => key}
            rowHeight={34}
          />
        </>
      )}
    </>
  );
}
