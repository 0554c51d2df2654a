import { useState } from 'preact/hooks';
import { count } from '../../../src/base/format.ts';
import type { Relay } from '../../../src/contract/relay.ts';
import { query, setParam, to } from '../../frame/router.ts';
import { Id } from '../../parts/copy-button.tsx';
import { Switch } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { Facts, PageHead } from '../../parts/page-head.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { DiffView } from '../../viewers/diff-view.tsx';
import { lineText, stateSections, stateText } from './state-lines.ts';

type Side = Awaited<ReturnType<typeof readSide>>;

/** Two threads side by side: their figures, states and differences. */
export function Compare() {
  const [a, b] = [query.value.get('a') ?? '', query.value.get('b') ?? ''];
  return (
    <>
      <PageHead title="Compare threads" above={{ title: 'Threads', href: to('threads') }} />
      <div class="bar">
        <ThreadField name="a" title="First thread" value={a} />
        <ThreadField name="b" title="Second thread" value={b} />
      </div>
      {a && b ? (
        <Comparison a={a} b={b} key={`${a} ${b}`} />
      ) : (
        <Empty title="Choose two threads.">
          <p>Select two in the list of threads, or enter their ids above.</p>
        </Empty>
      )}
    </>
  );
}

function ThreadField({ name, title, value }: { name: string; title: string; value: string }) {
  return (
    <label class="field wide-field">
      <span>{title}</span>
      <input
        class="mono"
        value={value}
        placeholder="thread id"
        onChange={(event) => setParam(name, event.currentTarget.value.trim())}
      />
    </label>
  );
}

async function readSide(relay: Relay, id: string) {
  const [info, state, stats] = await Promise.all([
    relay.threads.get(id),
    relay.threads.state(id, { counted: false }),
    relay.threads.stats(id),
  ]);
  return { info, state, stats };
}

function Comparison({ a, b }: { a: string; b: string }) {
  const sides = useAsked((relay) => Promise.all([readSide(relay, a), readSide(relay, b)]), [a, b], {
    live: ({ thread }) => thread === a || thread === b,
  });
  const [view, setView] = useState<'diff' | 'side'>('side');
  return (
    <Answer of={sides}>
      {([one, other]) => (
        <>
          <div class="columns even">
            <Figures side={one} />
            <Figures side={other} />
          </div>
          <div class="bar spaced">
            <Switch
              label="Comparison view"
              value={view}
              set={setView}
              options={{ side: 'Side by side', diff: 'Differences' }}
            />
            {view === 'side' && <span class="soft">Marked lines are in only one of the threads.</span>}
          </div>
          {view === 'diff' ? (
            <DiffView
              from={stateText(one.state)}
              to={stateText(other.state)}
              label="From the first to the second"
            />
          ) : (
            <div class="columns even">
              <StateColumn side={one} other={other} />
              <StateColumn side={other} other={one} />
            </div>
          )}
        </>
      )}
    </Answer>
  );
}

function Figures({ side: { info, stats } }: { side: Side }) {
  return (
    <section class="panel">
      <h2>
        <a href={to('threads', info.thread_id)}>
          <ForeignText text={info.name || 'Unnamed'} max={100} />
        </a>
      </h2>
      <Facts
        rows={[
          ['Id', <Id value={info.thread_id} />],
          ['Created', <Ago at={info.created_at} />],
          ['Version', `v${info.state_version}`],
          ['Artifacts', count(info.artifact_count)],
          ['Events', count(info.event_count)],
          [
            'Tokens saved',
            stats.prompts
              ? `${count(stats.prompts.avoided_tokens)} in ${stats.prompts.prompts} prompts`
              : 'no prompts yet',
          ],
        ]}
      />
    </section>
  );
}

/** Maximum number of lines per section. The thread's own page shows all lines. */
const SECTION_LINES = 100;

/** The state of one thread. Lines that are missing in the other thread are marked. */
function StateColumn({ side, other }: { side: Side; other: Side }) {
  const theirs = new Set(stateText(other.state));
  return (
    <section class="panel" aria-label={`State of ${side.info.name || side.info.thread_id}`}>
      {stateSections(side.state).map(({ title, lines }) => (
        <div key={title} class="known">
          <h3>{title}</h3>
          <ul>
            {lines.slice(0, SECTION_LINES).map((line) => {
              const onlyHere = !theirs.has(lineText(line));
              return (
                <li key={line.path} class={onlyHere ? 'own' : ''}>
                  {line.lead !== null && <strong>{line.lead}: </strong>}
                  <ForeignText text={line.text} max={600} />
                  {onlyHere && <span class="unseen"> (only here)</span>}
                </li>
              );
            })}
          </ul>
          {lines.length > SECTION_LINES && <p class="soft">and {lines.length - SECTION_LINES} more</p>}
        </div>
      ))}
      {stateSections(side.state).length === 0 && <p class="soft">The state is empty.</p>}
    </section>
  );
}
