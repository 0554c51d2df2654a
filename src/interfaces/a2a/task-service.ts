import { Message, type SendMessageRequest } from '@a2a-js/sdk';
import {
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import { ignore } from '../../base/errors.ts';
import { ownKey } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { A2A_POLL_MS, A2A_TASK_TTL_MS, A2A_TASKS_LISTED } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { type Caller, SCOPES } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { allRecords, type RecordsOf, recordsOf } from '../../domain/records.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { resultFromReceipts } from '../../sdk/result-waiters.ts';
import type { AgentEntry } from './card.ts';
import { conversationsOf } from './conversations.ts';
import {
  messageDigest,
  newestMessages,
  pushTurn,
  storeLargeParts,
  taskText,
  validateMessage,
} from './messages.ts';
import { recordResult } from './results.ts';
import {
  isOver,
  isWaiting,
  nextStep,
  stepsSince,
  type TaskRecord,
  threadOf,
  toTask,
  turnOf,
} from './task-record.ts';

/** Creates, finds, changes and follows the A2A tasks of one caller. All state is in the store. */
export class TaskService {
  readonly core: RelayCore;
  readonly caller: Caller;
  /** Base URL of pointers. */
  readonly base: string;
  readonly relay: Relay;
  readonly #records: RecordsOf<TaskRecord>;
  readonly #prefix: string;
  readonly #conversations: ReturnType<typeof conversationsOf>;

  constructor(core: RelayCore, caller: Caller, base: string) {
    this.core = core;
    this.caller = caller;
    this.base = base;
    // The relay itself pushes the payload and writes the thread, so the caller needs only the scope `tasks`.
    // The channel prefix of its API key still applies.
    this.relay = core.relay({ ...caller, scopes: SCOPES, asRelay: true }, base);
    this.#records = recordsOf(core.deps.engine.records);
    this.#prefix = `ten.${caller.tenant}/a2a/task/`;
    this.#conversations = conversationsOf(core, this.relay, caller);
  }

  /**
   * Creates a task and pushes it to the agent. A repeated message gets its existing task, because the client probably
   * missed the answer. It starts a new task if the first task is gone, was canceled or got a later message. In the last
   * two cases the client knows the first task.
   */
  async submit(agent: AgentEntry, request: SendMessageRequest): Promise<TaskRecord> {
    const message = validateMessage(request);
    const digest = await messageDigest(agent, message);
    const older = await this.#findLegacyTask(agent, message);
    if (older) return older;
    const begun = await this.#conversations.begin(message, digest, async (id) => {
      const stored = await this.#get(id);
      return stored?.value.asked === digest && stored.value.state !== 'canceled';
    });
    if (begun.task) return this.find(begun.task);
    const { context_id, thread_id } = begun;
    const { pointers } = this.relay;
    const light = await storeLargeParts(message, digest, pointers, this.base);
    const turn = { message: light, context_id, thread_id };
    const { id } = await pushTurn(agent, turn, pointers, ownKey(`a2a ${digest} ${begun.attempt}`));
    const record: TaskRecord = {
      id,
      context_id,
      ...(thread_id === context_id ? {} : { thread_id }),
      agent: agent.name,
      task_channel: agent.task_channel,
      done_channel: agent.done_channel,
      state: 'submitted',
      at: this.#now(),
      message: Message.toJSON(light) as JsonObject,
      asked: digest,
      webhooks: [],
    };
    const first = await this.#write(record, 'absent');
    await this.#conversations.recordTask(digest, begun, id);
    if (!first) return this.find(id);
    await this.relay.threads.record(thread_id, 'a2a.task.submitted', { task_id: id, agent: agent.name });
    return record;
  }

  /** Sends another message to a task that waits for input. The message is pushed as a new pointer. */
  async proceed(agent: AgentEntry, record: TaskRecord, request: SendMessageRequest): Promise<TaskRecord> {
    const message = validateMessage(request);
    const { id, context_id } = record;
    if (message.contextId && message.contextId !== context_id)
      throw new RequestMalformedError(`The task ${id} does not belong to the context ${message.contextId}.`);
    const digest = await messageDigest(agent, message);
    if (record.asked === digest) return record;
    if (!isWaiting(record)) {
      const why = isOver(record) ? 'has ended' : 'accepts a message only when it asks for one';
      throw new UnsupportedOperationError(
        `The task ${why} (${record.state}). To start a new task in the same context, omit taskId.`,
      );
    }
    const { pointers } = this.relay;
    const light = await storeLargeParts(message, digest, pointers, this.base);
    const thread_id = threadOf(record);
    const { history, status } = toTask(record, this.base);
    if (status?.message) history.push(status.message);
    const next = { message: light, context_id, thread_id, task: { id, history } };
    const { id: turn } = await pushTurn(agent, next, pointers, ownKey(`a2a ${turnOf(record)} ${digest}`));
    const working = await this.change(id, (now) => {
      if (now.at !== record.at || !isWaiting(now)) return null;
      const { note: _note, said: _said, ...rest } = now;
      const newest = newestMessages([...history.slice(1), light]);
      return { ...rest, state: 'working', at: this.#now(), turn, asked: digest, history: newest };
    });
    if (turnOf(working) === turn) {
      await this.relay.threads.record(thread_id, 'a2a.task.continued', { task_id: id, turn });
      return working;
    }
    // Ignore a failure: the pointer expires anyway.
    await pointers.delete(turn).catch(() => {});
    throw new UnsupportedOperationError('Another client has already answered this task.');
  }

  /** Returns the task in its current state, with its result if one has arrived. */
  async find(id: string): Promise<TaskRecord> {
    const stored = /^[0-9a-f-]{36}$/.test(id) ? await this.#get(id) : null;
    if (!stored) throw new TaskNotFoundError(`Task not found: ${id}`);
    return this.#current(stored.value, stored.revision);
  }

  /** Lists the tasks that `keep` accepts, newest first. */
  async list(keep: (record: TaskRecord) => boolean): Promise<TaskRecord[]> {
    const found: TaskRecord[] = [];
    for await (const { value } of allRecords(this.#records, this.#prefix)) {
      found.push(value);
      if (found.length === A2A_TASKS_LISTED) break;
    }
    return found.filter(keep).sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  }

  /** Changes a task with compare-and-set. `change` returns the new record, or null to write nothing. */
  async change(id: string, change: (now: TaskRecord) => TaskRecord | null): Promise<TaskRecord> {
    for (;;) {
      const stored = await this.#get(id);
      if (!stored) throw new TaskNotFoundError(`Task not found: ${id}`);
      const next = change(stored.value);
      if (next === null) return stored.value;
      const record = nextStep(stored.value, next);
      if (await this.#write(record, stored.revision)) return record;
    }
  }

  async cancel(record: TaskRecord): Promise<TaskRecord> {
    const { id } = record;
    if (isOver(record)) throw new TaskNotCancelableError(`Task is ${record.state}: ${id}`);
    // `conflict`: the result came first, and `find` below reads it. `not_found`: the pointer has expired.
    await this.relay.tasks.cancel(turnOf(record)).catch(ignore('conflict', 'not_found'));
    const now = await this.find(id);
    const over = isOver(now)
      ? now
      : await this.change(id, (old) => (isOver(old) ? null : { ...old, state: 'canceled', at: this.#now() }));
    if (over.state !== 'canceled') throw new TaskNotCancelableError(`Task is ${over.state}: ${id}`);
    // Ignore a failure: the pointer expires anyway.
    await this.relay.pointers.delete(turnOf(over)).catch(() => {});
    return over;
  }

  /**
   * Yields the task now and after each change, until it is over or the signal aborts. With `answered`, also
   * ends when the task waits for input.
   */
  async *follow(
    first: TaskRecord,
    signal: AbortSignal,
    o: { readonly answered?: boolean } = {},
  ): AsyncGenerator<TaskRecord> {
    const ends = (record: TaskRecord) => isOver(record) || (o.answered === true && isWaiting(record));
    yield first;
    if (ends(first)) return;
    let last = first;
    let woken = new AbortController();
    const left = new AbortController();
    void this.#hearResults(first.done_channel, AbortSignal.any([signal, left.signal]), (task) => {
      if (task === turnOf(last)) woken.abort();
    });
    try {
      while (!signal.aborted) {
        const stored = await this.#get(first.id);
        if (!stored) return;
        const record = await this.#current(stored.value, stored.revision);
        for (const step of stepsSince(last, record)) {
          yield step;
          if (ends(step)) return;
          last = step;
        }
        await pause(A2A_POLL_MS, AbortSignal.any([signal, woken.signal]));
        if (woken.signal.aborted) woken = new AbortController();
      }
    } finally {
      left.abort();
    }
  }

  /**
   * Adds the result to the task record. Without a result, sets the state to `working` once the agent has pulled the
   * task. Reads the task of the relay and not only its receipts: receipts are write-behind, and a crash may lose them.
   */
  async #current(record: TaskRecord, revision: number): Promise<TaskRecord> {
    if (isOver(record) || isWaiting(record)) return record;
    // The pointer may have expired. Then there is no result.
    const task = await this.relay.tasks.get(turnOf(record)).catch(() => null);
    const result = task?.result ?? resultFromReceipts(task?.receipts ?? []);
    if (result) {
      const over = { ...record, ...(await recordResult(record, result, this.relay)), at: this.#now() };
      return this.#move(record, over, revision);
    }
    const receipt = task?.receipts.find(({ rung }) => rung === 'pulled' || rung === 'acked');
    if (!receipt || record.state !== 'submitted') return record;
    return this.#move(record, { ...record, state: 'working', at: receipt.at }, revision);
  }

  /** Writes the new state and returns it, or the state that another process wrote first. */
  async #move(before: TaskRecord, next: TaskRecord, revision: number): Promise<TaskRecord> {
    const record = nextStep(before, next);
    if (await this.#write(record, revision)) return record;
    return (await this.#get(record.id))?.value ?? record;
  }

  #get(id: string): ReturnType<RecordsOf<TaskRecord>['get']> {
    return this.#records.get(this.#prefix + id);
  }

  /** Writes the record. Returns false if the stored revision differs from `expect`. */
  async #write(record: TaskRecord, expect: 'absent' | number): Promise<boolean> {
    const expiresAt = this.core.deps.env.now() + A2A_TASK_TTL_MS;
    return (await this.#records.put(this.#prefix + record.id, record, { expect, expiresAt })) !== null;
  }

  /**
   * Finds the task of a message that version 0.1.0 accepted. That version stored only the thread of each message id, so
   * this searches the thread for the task whose first message has the same text.
   */
  async #findLegacyTask({ name }: AgentEntry, message: Message): Promise<TaskRecord | null> {
    const thread = await this.#conversations.legacyThread(name, message.messageId);
    if (thread === null) return null;
    const text = taskText(message);
    const [found] = await this.list(
      (one) => one.context_id === thread && taskText(Message.fromJSON(one.message)) === text,
    );
    return found ? this.find(found.id) : null;
  }

  /**
   * Calls `heard` with the task id of each result on a channel, so that followers of a task need not wait for
   * the next poll.
   */
  async #hearResults(channel: string, signal: AbortSignal, heard: (task: unknown) => void): Promise<void> {
    try {
      for await (const { metadata } of this.relay.channels.subscribe(channel, { signal }))
        heard(metadata?.task_id);
    } catch {
      // Ignore the error: followers still poll every second.
    }
  }

  #now(): string {
    return new Date(this.core.deps.env.now()).toISOString();
  }
}
