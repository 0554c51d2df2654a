import { signal } from '@preact/signals';
import { bytes, count } from '../../src/base/format.ts';
import type { Relay } from '../../src/contract/relay.ts';
import type { RunItem } from '../../src/contract/threads.ts';
import { to } from '../frame/router.ts';
import { readHealth } from './health.ts';
import { hasScope, self } from './self.ts';

/** Something that a person should look at, with a link to the place or a command. */
export interface AttentionItem {
  readonly key: string;
  readonly tone: 'bad' | 'warn';
  /** Kind of problem, such as `Failed run`. */
  readonly kind: string;
  readonly title: string;
  readonly why?: string | undefined;
  readonly at?: string | undefined;
  readonly href?: string;
  /** Label of the link. It says what the person does there. */
  readonly action?: string;
  /** A command to run instead of a link. */
  readonly command?: string;
}

/**
 * The items that `readAttention` found last; null before the first read. The overview lists them, and the
 * health panel shows their number.
 */
export const attention = signal<readonly AttentionItem[] | null>(null);

const DAY_MS = 86_400_000;
const KEY_EXPIRES_MS = 7 * DAY_MS;
/** Fraction of a limit above which the usage is reported. */
const NEARLY_FULL = 0.9;
/** Maximum number of runs and channels whose details are read. */
const LOOKED_AT = 10;

/**
 * Reads everything that needs the attention of a person, most urgent first. If some sources fail, they are left out.
 * Throws if all fail.
 */
export async function readAttention(relay: Relay): Promise<readonly AttentionItem[]> {
  const sources = [
    storeItems(),
    hasScope('threads') && runItems(relay),
    hasScope('threads') && questionItems(relay),
    hasScope('tasks') && taskItems(relay),
    hasScope('tasks') && agentItems(relay),
    hasScope('subscribe') && deadLetterItems(relay),
    hasScope('push') && limitItems(relay),
    hasScope('admin') && keyItems(relay),
  ].filter((source) => source !== false);
  const results = await Promise.allSettled(sources);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed && results.every(({ status }) => status === 'rejected')) throw failed.reason;
  const items = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  const urgency = ({ tone }: AttentionItem) => (tone === 'bad' ? 0 : 1);
  items.sort((a, b) => urgency(a) - urgency(b) || (b.at ?? '').localeCompare(a.at ?? ''));
  attention.value = items;
  return items;
}

async function storeItems(): Promise<AttentionItem[]> {
  const { ready, warnings } = await readHealth();
  const command = 'relay doctor';
  const full: AttentionItem = {
    key: 'store',
    tone: 'bad',
    kind: 'Store',
    title: 'The store does not accept writes',
    command,
  };
  return [
    ...(ready ? [] : [full]),
    ...warnings.map((title): AttentionItem => ({ key: title, tone: 'warn', kind: 'Store', title, command })),
  ];
}

async function runItems(relay: Relay): Promise<AttentionItem[]> {
  const { runs } = await relay.threads.runs({ limit: 100 });
  const unsolved = runs.filter((run) => isUnsolved(run, runs)).slice(0, LOOKED_AT);
  const items = await Promise.all(
    unsolved.map(async ({ run, pipeline, status, started_at, finished_at }): Promise<AttentionItem[]> => {
      const { instances, held_by } = await relay.threads.run(run);
      const isStuck = status === 'running';
      if (isStuck && held_by !== null) return [];
      const failed = instances.find((one) => one.status === 'failed');
      const why = isStuck
        ? 'No process executes this run.'
        : failed && [failed.step, failed.why].filter(Boolean).join(': ');
      return [
        {
          key: `run ${run}`,
          tone: isStuck ? 'warn' : 'bad',
          kind: isStuck
            ? 'Stuck run'
            : status === 'failed'
              ? 'Failed run'
              : `${status} run`.replace(/^./, (c) => c.toUpperCase()),
          title: pipeline,
          ...(why ? { why } : {}),
          at: finished_at ?? started_at,
          href: to('pipelines', run) + (failed ? `?step=${encodeURIComponent(failed.step)}` : ''),
          action: isStuck ? 'Resume' : 'See why',
        },
      ];
    }),
  );
  return items.flat();
}

/**
 * Returns whether a run that did not succeed still needs a person. A run that has ended
 * counts for one day, or for a week if its pipeline has not succeeded since. A running run counts for a week.
 */
function isUnsolved(
  { status, pipeline, started_at, finished_at }: RunItem,
  runs: readonly RunItem[],
): boolean {
  if (status === 'done') return false;
  const age = Date.now() - Date.parse(finished_at ?? started_at);
  if (status === 'running' || age < DAY_MS) return age < 7 * DAY_MS;
  const isSolved = runs.some(
    (later) => later.pipeline === pipeline && later.status === 'done' && later.started_at > started_at,
  );
  return age < 7 * DAY_MS && !isSolved;
}

async function taskItems(relay: Relay): Promise<AttentionItem[]> {
  const { tasks } = await relay.tasks.list({ limit: 200 });
  return tasks.flatMap(({ id, summary, state, stuck, created_at, result }): AttentionItem[] => {
    const about = { key: `task ${id}`, title: summary ?? id.slice(0, 8), href: to('tasks', id) };
    if (stuck)
      return [{ ...about, tone: 'warn', kind: 'Stuck task', why: stuck, at: created_at, action: 'Open' }];
    if (state !== 'failed' || !result || Date.now() - Date.parse(result.at) > DAY_MS) return [];
    const why = result.summary ?? undefined;
    return [{ ...about, tone: 'bad', kind: 'Failed task', why, at: result.at, action: 'See why' }];
  });
}

/** Questions of agents and pipelines. They include the question of a pipeline that has reached its budget. */
async function questionItems(relay: Relay): Promise<AttentionItem[]> {
  const { questions } = await relay.questions.list();
  return questions.map(({ id, question, asked_by, asked_at, step }) => ({
    key: `question ${id}`,
    tone: 'warn',
    kind: 'Question',
    title: question,
    why: step ? `The step ${step} of a pipeline waits for the answer.` : `${asked_by} waits for the answer.`,
    at: asked_at,
    href: `${to('agents')}?tab=questions`,
    action: 'Answer',
  }));
}

/** Sessions that wait for a person, messages of unknown senders, and conversations at their limit. */
async function agentItems(relay: Relay): Promise<AttentionItem[]> {
  const [{ agents }, { conversations }] = await Promise.all([
    relay.agents.list(),
    relay.agents.conversations({ limit: 100 }),
  ]);
  const ofAgents = agents.flatMap(({ name, session, held, last_seen }): AttentionItem[] => {
    const about = { tone: 'warn', title: name, at: last_seen ?? undefined } as const;
    const why = session?.waiting_for ?? undefined;
    const waits = { key: `agent ${name}`, kind: 'Agent waits', why, href: to('agents'), action: 'Open' };
    const holds = {
      key: `held ${name}`,
      kind: 'Held messages',
      why: `${held} from senders that ${name} does not know.`,
      href: `${to('agents')}?tab=conversations&agent=${encodeURIComponent(name)}`,
      action: 'Allow',
    };
    return [...(why ? [waits] : []), ...(held ? [holds] : [])].map((item) => ({ ...about, ...item }));
  });
  const full = conversations.filter(({ messages, limit }) => messages >= limit);
  return [
    ...ofAgents,
    ...full.map(({ id, about, agents, last_at }): AttentionItem => {
      const why = `${agents.join(' and ')} have reached the limit of their conversation.`;
      return {
        ...{ key: `conversation ${id}`, tone: 'warn', kind: 'Conversation', title: about || id },
        ...{ why, at: last_at, href: to('agents', id), action: 'Allow more' },
      };
    }),
  ];
}

/** Dead letters are on channels whose name ends with `.dead`. */
async function deadLetterItems(relay: Relay): Promise<AttentionItem[]> {
  const { channels } = await relay.channels.list({ limit: 1_000 });
  const dead = channels.filter(({ name, messages }) => name.endsWith('.dead') && messages > 0);
  const details = await Promise.all(
    dead.slice(0, LOOKED_AT).map(({ name }) => relay.channels.inspect(name.slice(0, -'.dead'.length))),
  );
  return details
    .filter((channel) => channel.dead > 0)
    .map(({ name, dead }) => ({
      key: `dead ${name}`,
      tone: 'bad',
      kind: 'Dead letters',
      title: name,
      why: dead === 1 ? 'A group gave up on one message.' : `Groups gave up on ${count(dead)} messages.`,
      at: channels.find((channel) => channel.name === `${name}.dead`)?.last_at ?? undefined,
      href: `${to('channels', name)}?tab=dead`,
      action: 'Retry or drop',
    }));
}

async function limitItems(relay: Relay): Promise<AttentionItem[]> {
  const { storage, pushes } = await relay.usage.get();
  const meters = [
    ['Storage', storage, bytes],
    ['Pushes this month', pushes, count],
  ] as const;
  return meters.flatMap(([title, { used, limit }, format]): AttentionItem[] => {
    if (limit === null || used < limit * NEARLY_FULL) return [];
    const why = `${format(used)} of ${format(limit)} are used.`;
    const tone = used >= limit ? 'bad' : 'warn';
    return [
      { key: title, tone, kind: 'Limit', title, why, href: `${to('keys')}?tab=usage`, action: 'See usage' },
    ];
  });
}

async function keyItems(relay: Relay): Promise<AttentionItem[]> {
  if (self.value?.auth !== 'keys') return [];
  const keys = await relay.keys.list();
  return keys.flatMap(({ id, name, expires_at }): AttentionItem[] => {
    const left = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - Date.now();
    if (left > KEY_EXPIRES_MS) return [];
    const why = left <= 0 ? 'The key has expired.' : `The key expires in ${Math.ceil(left / DAY_MS)} days.`;
    return [{ key: id, tone: 'warn', kind: 'Key', title: name, why, href: to('keys'), action: 'Rotate' }];
  });
}
