import { useEffect } from 'preact/hooks';
import { bytes, count, plural } from '../../../src/base/format.ts';
import type { Activity } from '../../../src/contract/activity.ts';
import type { UsageReport } from '../../../src/contract/keys.ts';
import { to } from '../../frame/router.ts';
import { Command } from '../../parts/copy-button.tsx';
import { isWithin, readParams, SelectFilter, TimeFilter, ValueFilter } from '../../parts/filters.tsx';
import { Answer, Empty, Failure, Pending } from '../../parts/notices.tsx';
import { Figure, PageHead } from '../../parts/page-head.tsx';
import { Clock } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { recentActivity } from '../../session/live.ts';
import { usePages } from '../../session/paging.ts';
import { self } from '../../session/self.ts';
import { AgentList } from '../agents/agent-list.tsx';
import { ActivityLine, joinEntries } from './activity-line.tsx';
import { Health } from './health.tsx';
import { NeedsAttention } from './needs-attention.tsx';
import { OutputSavings } from './output-savings.tsx';
import { TokensOverTime } from './tokens-over-time.tsx';
import { useNames } from './use-names.ts';

/**
 * Maximum number of lines in the feed. The pages of threads, channels and other objects show older activity.
 */
const LINES = 60;
const AGENTS_POLL_MS = 10_000;

/** The overview page: items that need attention, key figures, activity, token savings, agents and health. */
export function Overview() {
  return (
    <>
      <PageHead title="Overview" />
      <NeedsAttention />
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
  const live = ({ kind }: Activity) => /^(?:thread|artifact|pointer)\./.test(kind);
  const totals = useAsked((relay) => relay.threads.totals(), [], { live });
  const usage = useAsked((relay) => relay.usage.get({ store: true }), [], { live });
  const agents = useAsked((relay) => relay.agents.list(), [], { every: AGENTS_POLL_MS });
  const { value: sums } = totals;
  const ledger = sums?.prompts;
  const bridges = agents.value?.agents.filter(({ kind }) => kind !== 'follower') ?? [];
  const lostCount = bridges.filter(({ state }) => state === 'stuck' || state === 'silent').length;
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
        foot={sums && plural(sums.artifacts, 'artifact')}
        href={to('threads')}
      />
      <Figure
        name="Live agents"
        value={agents.value ? count(bridges.filter(({ alive }) => alive).length) : '…'}
        foot={lostCount > 0 ? `${lostCount} stuck or silent` : `of ${bridges.length} known`}
        href={to('agents')}
      />
      {/* The relay counts pushes only if it requires API keys. */}
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
        value={usage.value ? bytes(usage.value.store?.disk_bytes || usage.value.storage.used) : '…'}
        foot={usage.value && describeStorage(usage.value)}
        href={to('keys')}
      />
    </div>
  );
}

const SUBJECTS = {
  '': 'everything',
  pointer: 'pointers',
  thread: 'threads and artifacts',
  file: 'files',
  channel: 'channels and groups',
  task: 'tasks and agents',
  pipeline: 'pipelines',
  key: 'keys and links',
};
/**
 * Maps each choice of the filter to kinds of activity. A kind is given by its part before the dot: `thread` for
 * `thread.created`.
 */
const SUBJECT_KINDS: { readonly [subject: string]: readonly string[] } = {
  pointer: ['pointer'],
  thread: ['thread', 'artifact'],
  file: ['file'],
  channel: ['channel', 'group'],
  task: ['task', 'agent'],
  pipeline: ['pipeline', 'step'],
  key: ['key', 'share'],
};

function ActivityFeed() {
  const [subject, by, channel, time] = readParams('subject', 'by', 'channel', 'time');
  const filtered = [subject, by, channel, time].some((value) => value !== '');
  const matches = (entry: Activity) =>
    (subject === '' || SUBJECT_KINDS[subject]?.includes(entry.kind.split('.')[0]!) === true) &&
    (by === '' || entry.by === by) &&
    (channel === '' || entry.channel === channel) &&
    isWithin(time, entry.at);
  const older = usePages(
    'activities',
    (relay, page) => relay.activity.list(page),
    [subject, by, channel, time],
    { matches, isPast: (entry) => !isWithin(time, entry.at), live: ({ kind }) => kind === 'gap' },
  );
  useEffect(() => {
    if (older.rows.length < LINES) older.more();
  }, [older.rows]);
  const names = useNames();
  const entries = mergeById(recentActivity.value.filter(matches), older.rows);
  return (
    <>
      <div class="bar feed-filters">
        <SelectFilter label="About" param="subject" options={SUBJECTS} />
        <ValueFilter label="By" param="by" all="anyone" values={entries.map((entry) => entry.by)} />
        <ValueFilter label="Channel" param="channel" values={entries.map((entry) => entry.channel)} />
        <TimeFilter />
      </div>
      <Failure error={older.error} again={older.more} />
      {entries.length > 0 ? (
        <ol class="feed" aria-label="Activity, newest first">
          {joinEntries(entries)
            .slice(0, LINES)
            .map((line) => (
              <li key={line.entry.id}>
                <Clock at={line.entry.at} short />
                <span class={`mark ${line.entry.kind.split('.')[0]}`} aria-hidden="true" />
                <ActivityLine line={line} names={names} />
              </li>
            ))}
        </ol>
      ) : older.pending ? (
        <Pending />
      ) : filtered ? (
        <p class="soft">No activity matches these filters.</p>
      ) : (
        older.ended && (
          <Empty title="No activity yet.">
            <p>Pushes, messages, threads and tasks of your agents appear here live.</p>
            <Command line='echo "hello, agent" | relay push --channel greetings' about="Push a payload:" />
          </Empty>
        )
      )}
    </>
  );
}

/**
 * Returns the text below the storage figure: the limit of the plan. If there is no limit, an operator sees the number
 * of stored payloads, and others see what kinds of data the figure includes.
 */
function describeStorage({ store, storage }: UsageReport): string {
  if (storage.limit !== null) return `of ${bytes(storage.limit)}`;
  return store
    ? `on disk, ${plural(store.payloads, 'payload')} of ${bytes(store.payload_bytes)}`
    : 'threads, files and channels';
}

function mergeById(live: readonly Activity[], listed: readonly Activity[]): Activity[] {
  const liveIds = new Set(live.map(({ id }) => id));
  return [...live, ...listed.filter(({ id }) => !liveIds.has(id))];
}

function Agents() {
  const live = ({ kind }: Activity) => /^(?:agent|task)\./.test(kind);
  const agents = useAsked((relay) => relay.agents.list(), [], { every: AGENTS_POLL_MS, live });
  return (
    <section class="panel" aria-labelledby="agents">
      <h2 id="agents">Agents</h2>
      <Answer of={agents}>{({ agents }) => <AgentList agents={agents} short />}</Answer>
    </section>
  );
}
