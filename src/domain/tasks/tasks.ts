import { isRelayError, RelayError } from '../../base/errors.ts';
import { ownKey } from '../../base/ids.ts';
import { RESULT_SUMMARY_CHARS, TASK_SUMMARY_CHARS, TASKS_LISTED } from '../../base/limits.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import { authorize, mayUseChannel } from '../../contract/authorize.ts';
import type { Caller, CallerAt } from '../../contract/caller.ts';
import type { DeadLetter } from '../../contract/channels.ts';
import { pointerUrl } from '../../contract/pointer-url.ts';
import {
  DONE_CHANNEL,
  directChannel,
  resultKey,
  type Settlement,
  TASK_GROUP,
  type Task,
  type TaskInfo,
  type TaskQuery,
  type TaskResult,
  type TaskState,
  type TaskStatus,
  tasks,
} from '../../contract/tasks.ts';
import type { Verb } from '../../contract/verb.ts';
import type { Agents, BridgesWork } from '../agents/agents.ts';
import type { Channels } from '../channels/channels.ts';
import type { GroupPosition } from '../channels/groups.ts';
import type { LetterEntry } from '../channels/settings.ts';
import type { Deps } from '../deps.ts';
import { checkChannelName, checkCount } from '../names.ts';
import type { Pointers } from '../pointers/pointers.ts';
import type { PointerLookup, PointerRecord } from '../pointers/record.ts';
import type { Receipts } from '../receipts/receipts.ts';
import { type KeptResult, type TaskResults, toResult } from './results.ts';

interface TasksParts {
  readonly deps: Deps;
  readonly lookup: PointerLookup;
  readonly pointers: Pointers;
  readonly channels: Channels;
  readonly receipts: Receipts;
  readonly results: TaskResults;
  readonly agents: Agents;
}

/** A task as it was sent. It is read from its pointer, or from its result if the pointer no longer exists. */
type Sent = KeptResult['task'];

interface FoundTask {
  readonly id: string;
  readonly sent: Sent;
  readonly result: KeptResult | null;
}

/** Time in ms after which a queued task is reported as stuck if no bridge serves its channel. */
const QUEUED_LONG_MS = 60_000;

type TaskProgress = Pick<TaskInfo, 'state' | 'attempt' | 'lease'>;

/** Work for agents. A task is a pointer on a channel, and its result is a pointer too. */
export class Tasks {
  readonly #parts: TasksParts;

  constructor(parts: TasksParts) {
    this.#parts = parts;
  }

  async get(caller: CallerAt, rawId: string): Promise<Task> {
    const { receipts, channels } = this.#parts;
    const { id, sent, result, record } = await this.#find(caller, rawId);
    authorize(caller, tasks.get, { channel: sent.channel });
    const seq = result ? null : await this.#seqOf(caller, id, sent);
    const standing = result ? [] : await channels.groups.positions(caller.tenant, sent.channel);
    const ladder = record ? (await receipts.ladder(caller, id, record)).receipts : [];
    const acked = ladder.some(({ rung }) => rung === 'acked');
    const work = await this.#parts.agents.work(caller);
    const state = this.#state(result, seq, standing, acked);
    const { size, metadata } = sent;
    return { ...this.#info(caller, { id, sent, result }, state, work), size, metadata, receipts: ladder };
  }

  async list(caller: CallerAt, o: TaskQuery = {}): Promise<{ tasks: TaskInfo[] }> {
    const limit = checkCount('limit', o.limit ?? 50, TASKS_LISTED);
    const work = await this.#parts.agents.work(caller);
    const candidates =
      o.channel === undefined ? await this.#taskChannels(caller, work) : [checkChannelName(o.channel)];
    const channels = candidates.filter((channel) => mayUseChannel(caller, channel));
    const lists = await Promise.all(channels.map((channel) => this.#onChannel(caller, channel, work)));
    const found = lists
      .flat()
      .filter(({ state }) => o.state === undefined || state === o.state)
      .sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
    return { tasks: found.slice(0, limit) };
  }

  /**
   * Returns the channels that may have tasks: the channels that bridges have served, and the direct channels below
   * them. A direct channel is included even if its agent has never connected.
   */
  async #taskChannels(caller: Caller, { channels }: BridgesWork): Promise<string[]> {
    const names = [...channels.keys()];
    const direct = names.map((name) => this.#parts.channels.beginningWith(caller, directChannel(name, '')));
    return [...new Set([...names, ...(await Promise.all(direct)).flat()])];
  }

  done(caller: CallerAt, id: string, o: Settlement = {}): Promise<TaskResult> {
    return this.#settle(caller, tasks.done, id, 'done', o);
  }

  fail(caller: CallerAt, id: string, o: Settlement = {}): Promise<TaskResult> {
    return this.#settle(caller, tasks.fail, id, 'failed', o);
  }

  /**
   * Cancels a task by creating a result. If another result comes at the same time, only the first of the
   * two becomes the result of the task.
   */
  cancel(caller: CallerAt, id: string, o: { readonly reason?: string } = {}): Promise<TaskResult> {
    const why = o.reason?.trim();
    const summary = `Canceled by ${caller.name}${why ? `: ${why}` : '.'}`;
    return this.#settle(caller, tasks.cancel, id, 'canceled', { summary });
  }

  /**
   * Settles a task by pushing a result. The idempotency key is the same for every attempt, so there is only
   * one result and one message.
   */
  async #settle(
    caller: CallerAt,
    verb: Verb,
    rawId: string,
    status: TaskStatus,
    o: Settlement,
  ): Promise<TaskResult> {
    const { base } = caller;
    const { id, sent, result } = await this.#find(caller, rawId);
    const work = await this.#parts.agents.work(caller);
    const done_channel = this.#doneChannel(sent, work);
    authorize(caller, verb, { channel: sent.channel, done_channel });
    const summary = o.summary?.trim().slice(0, RESULT_SUMMARY_CHARS) || firstLine(o.data) || status;
    const data = o.data?.trim() ? o.data : summary;
    if (result) return sameOrConflict(id, result, status, summary, base);
    try {
      await this.#push(caller, done_channel, data, {
        task_id: id,
        status,
        summary,
        agent: bridgeOf(id, work)?.name,
      });
    } catch (error) {
      if (!isRelayError(error, 'idempotency_conflict')) throw error;
    }
    const settled = await this.#parts.results.find(caller, id);
    if (!settled)
      throw new RelayError('not_found', { what: 'this task', hint: 'List the tasks with: relay task list' });
    return sameOrConflict(id, settled, status, summary, base);
  }

  /**
   * Called for a dead letter. If it is a task, the task gets a failed result, so that nobody waits for it
   * forever.
   */
  async onDeadTask(tenant: string, { pointer, metadata, dead }: LetterEntry): Promise<void> {
    if (pointer === undefined || dead.group !== TASK_GROUP) return;
    const relay: Caller = { tenant, keyId: 'relay', name: 'relay', scopes: ['tasks'] };
    const sent = { channel: dead.channel, metadata: metadata ?? {} };
    const summary = WHY_DEAD[dead.reason](dead.attempts);
    const work = await this.#parts.agents.work(relay);
    const agent = bridgeOf(pointer, work)?.name;
    const failure = { task_id: pointer, status: 'failed' as const, summary, agent };
    await this.#push(relay, this.#doneChannel(sent, work), summary, failure);
  }

  /**
   * Sends a dead task again under a new id, because it already has a failed result and a task can have only
   * one result. Returns the id of the new task. Returns null if the dead letter is no task with a result.
   */
  async resend(caller: Caller, { pointer, metadata, sealed_key, dead }: LetterEntry): Promise<string | null> {
    const { results, pointers } = this.#parts;
    if (pointer === undefined || dead.group !== TASK_GROUP) return null;
    if (!(await results.find(caller, pointer))) return null;
    const { about, body } = await pointers.pull(caller, pointer);
    const { id } = await pointers.store(caller, {
      body,
      size: about.size ?? undefined,
      key_check: about.key_check,
      content_type: about.content_type ?? undefined,
      channel: dead.channel,
      metadata,
      sealed_key,
      idempotency_key: ownKey(`task-again:${pointer}`),
    });
    return id;
  }

  async #push(
    caller: Caller,
    channel: string,
    data: string,
    metadata: { task_id: string; status: TaskStatus; summary: string; agent?: string },
  ): Promise<void> {
    await this.#parts.pointers.store(caller, {
      body: encodeUtf8(data),
      content_type: 'text/plain; charset=utf-8',
      channel,
      metadata,
      idempotency_key: ownKey(resultKey(metadata.task_id)),
    });
  }

  async #onChannel(caller: CallerAt, channel: string, work: BridgesWork): Promise<TaskInfo[]> {
    const { channels, results, lookup } = this.#parts;
    const standing = await channels.groups.positions(caller.tenant, channel);
    const newest: { id: string; seq: number }[] = [];
    for await (const announced of channels.announced(caller.tenant, channel, 0)) {
      newest.push(announced);
      if (newest.length > 2 * TASKS_LISTED) newest.splice(0, TASKS_LISTED);
    }
    const found = await Promise.all(
      newest.slice(-TASKS_LISTED).map(async ({ id, seq }) => {
        const [result, record] = await Promise.all([results.find(caller, id), lookup.find(id)]);
        const sent = record ? { ...record, channel } : result?.task;
        if (!sent) return null;
        return this.#info(caller, { id, sent, result }, this.#state(result, seq, standing, false), work);
      }),
    );
    return found.filter((each) => each !== null);
  }

  #info(
    { base }: CallerAt,
    { id, sent, result }: FoundTask,
    state: TaskProgress,
    work: BridgesWork,
  ): TaskInfo {
    const { summary } = sent.metadata;
    return {
      id,
      url: pointerUrl(base, id),
      channel: sent.channel,
      done_channel: this.#doneChannel(sent, work),
      from: sent.from,
      created_at: new Date(sent.created).toISOString(),
      ...state,
      summary: typeof summary === 'string' ? summary.slice(0, TASK_SUMMARY_CHARS) : null,
      agent: result?.agent ?? bridgeOf(id, work)?.name ?? null,
      stuck: this.#stuck(id, sent, state, work),
      result: result && toResult(id, result, base),
    };
  }

  #stuck(id: string, { channel, created }: Sent, { state }: TaskProgress, work: BridgesWork): string | null {
    const bridge = bridgeOf(id, work);
    const why = bridge?.bridge.stuck?.[id];
    const lost = bridge ? undefined : bridgeOf(id, work, { alive: false });
    if (state === 'running' && why !== undefined) return why;
    if (state === 'running' && lost)
      return `The agent ${lost.name} worked on it, but its bridge no longer reports.`;
    const waits = state === 'queued' && created < this.#parts.deps.env.now() - QUEUED_LONG_MS;
    const isServed = work.bridges.some(({ alive, channels }) => alive && channels.includes(channel));
    return waits && !isServed ? `No bridge serves the channel ${channel}.` : null;
  }

  #state(
    result: KeptResult | null,
    seq: number | null,
    standing: readonly GroupPosition[],
    acked: boolean,
  ): TaskProgress {
    let attempt = 0;
    let waiting = standing.length === 0;
    const now = this.#parts.deps.env.now();
    for (const { group, cursor, open } of seq === null ? [] : standing) {
      const work = open.get(seq!);
      attempt = Math.max(attempt, work?.attempt ?? 0);
      if (work && work.until > now && !result) {
        const lease_until = new Date(work.until).toISOString();
        const lease = { group, member: work.by, attempt: work.attempt, lease_until };
        return { state: 'running', attempt, lease };
      }
      waiting ||= work !== undefined || seq! > cursor;
    }
    const settled: TaskState = acked || (seq !== null && !waiting) ? 'acked' : 'queued';
    return { state: result?.status ?? settled, attempt, lease: null };
  }

  async #find(caller: Caller, rawId: string): Promise<FoundTask & { record: PointerRecord | null }> {
    const { lookup, results } = this.#parts;
    const id = await lookup.idOf(caller, String(rawId));
    const [result, record] = await Promise.all([results.find(caller, id), lookup.find(id)]);
    if (record && record.tenant === caller.tenant && record.channel !== null) {
      return { id, sent: { ...record, channel: record.channel }, result, record };
    }
    if (result) return { id, sent: result.task, result, record: null };
    throw new RelayError('not_found', {
      what: 'this task',
      hint: 'The id of a task is the id of the pointer that was pushed to a task channel. List the tasks with: relay task list',
    });
  }

  /**
   * Finds the sequence of the task's message on its channel. The message is appended soon after the pointer
   * is created, so the search starts at that time.
   */
  async #seqOf({ tenant }: Caller, id: string, { channel, created }: Sent): Promise<number | null> {
    const { channels } = this.#parts;
    const { after } = await channels.start(tenant, channel, created);
    for await (const announced of channels.announced(tenant, channel, after)) {
      if (announced.id === id) return announced.seq;
    }
    return null;
  }

  #doneChannel({ channel, metadata }: Pick<Sent, 'channel' | 'metadata'>, work: BridgesWork): string {
    const wished = metadata.done_channel;
    if (typeof wished === 'string' && wished !== '') return wished;
    return work.channels.get(channel) ?? DONE_CHANNEL;
  }
}

const WHY_DEAD: { readonly [K in DeadLetter['reason']]: (attempts: number) => string } = {
  attempts: (attempts) =>
    `Failed after ${attempts} attempts: every agent that took the task stopped or gave it back.`,
  age: () => 'The task expired before any agent took it.',
  gone: () => 'The payload of the task expired or was revoked before any agent took it.',
};

function sameOrConflict(
  id: string,
  result: KeptResult,
  status: TaskStatus,
  summary: string,
  base: string,
): TaskResult {
  const same = result.status === status && (status === 'canceled' || result.summary === summary);
  if (same) return toResult(id, result, base);
  throw new RelayError('conflict', {
    what: `This task already has a result: ${result.status}${result.summary ? `, "${result.summary}"` : ''}.`,
    hint: `Read the result with: relay task show ${id}`,
  });
}

/** Returns the bridge that is working on the task, or with `alive: false` a silent bridge that worked on it. */
function bridgeOf(id: string, { bridges }: BridgesWork, { alive } = { alive: true }) {
  return bridges.findLast((each) => each.alive === alive && each.bridge.running.includes(id));
}

function firstLine(text: string | undefined): string | undefined {
  const line = text?.split('\n').find((each) => each.trim() !== '');
  return line?.trim().slice(0, TASK_SUMMARY_CHARS) || undefined;
}
