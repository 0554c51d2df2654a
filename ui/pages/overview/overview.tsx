import { bytes, count } from '../../../src/base/format.ts';
import type { Activity } from '../../../src/contract/activity.ts';
import { to } from '../../frame/router.ts';
import { Command } from '../../parts/copy-button.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { Figure, PageHead } from '../../parts/page-head.tsx';
import { Clock } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { recentActivity, useEvery, useLive } from '../../session/live.ts';
import { self } from '../../session/self.ts';
import { AgentList } from '../tasks/agent-list.tsx';
import { ActivityLine } from './activity-line.tsx';
import { Health } from './health.tsx';
import { OutputSavings } from './output-savings.tsx';
import { TokensOverTime } from './tokens-over-time.tsx';
import { useNames } from './use-names.ts';

/** Number of lines; older activity is on the pages of its objects. */
const LINES = 60;
const AGENTS_POLL_MS = 10_000;

/** Activity, agents, token savings and health. */
export function Overview() {
  return (
    <>
      <PageHead title="Overview" />
      <Figures />
      <div class="columns">
        <section class="panel" aria-labelledby="activity">
          <h2 id="activity">Activity</h2>
          <ActivityFeed />
        </section>
        <div class="stack">
          <TokensOverTime />
          <OutputSavings />
          <Agents />
          <Health />
        </div>
      </div>
    </>
  );
}

function Figures() {
  const totals = useAsked((relay) => relay.threads.totals(), []);
  const usage = useAsked((relay) => relay.usage.get(), []);
  const agents = useAsked((relay) => relay.agents.list(), []);
  useEvery(AGENTS_POLL_MS, agents.again);
  useLive(
    ({ kind }) => /^(?:thread|artifact|pointer)\./.test(kind),
    () => {
      totals.again();
      usage.again();
    },
  );
  const { value: sums } = totals;
  const ledger = sums?.prompts;
  const bridges = agents.value?.agents.filter(({ kind }) => kind === 'bridge') ?? [];
  const lost = bridges.filter(({ state }) => state === 'stuck' || state === 'silent').length;
  return (
    <div class="figures">
      <Figure
        name="Tokens saved"
        value={ledger ? count(ledger.avoided_tokens) : sums ? '–' : '…'}
        foot={ledger ? `in ${count(ledger.prompts)} prompts (${sums?.tokenizer})` : 'no prompts yet'}
      />
      <Figure
        name="Threads"
        value={sums ? count(sums.threads) : '…'}
        foot={sums && `${count(sums.artifacts)} ${sums.artifacts === 1 ? 'artifact' : 'artifacts'}`}
        href={to('threads')}
      />
      <Figure
        name="Live agents"
        value={agents.value ? count(bridges.filter(({ alive }) => alive).length) : '…'}
        foot={lost > 0 ? `${lost} stuck or silent` : `of ${bridges.length} known`}
        href={to('tasks')}
      />
      {/* Without keys nobody counts pushes. */}
      {self.value?.auth === 'keys' && (
        <Figure
          name="Pushes this month"
          value={usage.value ? count(usage.value.pushes.used) : '…'}
          foot={
            usage.value &&
            (usage.value.pushes.limit === null ? 'no limit' : `of ${count(usage.value.pushes.limit)}`)
          }
          href={to('keys')}
        />
      )}
      <Figure
        name="Storage"
        value={usage.value ? bytes(usage.value.storage.used) : '…'}
        foot={
          usage.value &&
          (usage.value.storage.limit === null
            ? 'threads and channels'
            : `of ${bytes(usage.value.storage.limit)}`)
        }
        href={to('keys')}
      />
    </div>
  );
}

function ActivityFeed() {
  const older = useAsked((relay) => relay.activity.list({ limit: LINES }), []);
  const names = useNames();
  useLive(({ kind }) => kind === 'gap', older.again);
  return (
    <Answer of={older}>
      {({ activities }) => {
        const lines = mergeById(recentActivity.value, activities);
        if (lines.length === 0)
          return (
            <Empty title="No activity yet.">
              <p>Pushes, messages, threads and tasks of your agents appear here live.</p>
              <Command line='echo "hello, agent" | relay push --channel greetings' about="Push a payload:" />
            </Empty>
          );
        return (
          <ol class="feed" aria-label="Activity, newest first">
            {lines.map((entry) => (
              <li key={entry.id}>
                <Clock at={entry.at} short />
                <span class={`mark ${entry.kind.split('.')[0]}`} aria-hidden="true" />
                <ActivityLine entry={entry} names={names} />
              </li>
            ))}
          </ol>
        );
      }}
    </Answer>
  );
}

function mergeById(live: readonly Activity[], listed: readonly Activity[]): Activity[] {
  const known = new Set(live.map(({ id }) => id));
  return [...live, ...listed.filter(({ id }) => !known.has(id))].slice(0, LINES);
}

function Agents() {
  const agents = useAsked((relay) => relay.agents.list(), []);
  useEvery(AGENTS_POLL_MS, agents.again);
  useLive(({ kind }) => /^(?:agent|task)\./.test(kind), agents.again);
  return (
    <section class="panel" aria-labelledby="agents">
      <h2 id="agents">Agents</h2>
      <Answer of={agents}>{({ agents }) => <AgentList agents={agents} short />}</Answer>
    </section>
  );
}
