import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { TASK_SUMMARY_CHARS, TASK_TIMEOUT_MS } from '../../base/limits.ts';
import { parsePointer } from '../../contract/pointer-url.ts';
import { DONE_CHANNEL, directChannel, TASK_CHANNEL } from '../../contract/tasks.ts';
import { ContextRelay } from '../../sdk/context-relay.ts';
import type { ContextRelayOptions } from '../../sdk/options.ts';
import { type FoundResult, ResultWaiters } from '../../sdk/result-waiters.ts';
import type { AgentBridgeOptions, SendOptions, SentTask, TaskAnswer, WaitOptions } from './options.ts';
import { firstLine } from './outcome.ts';
import { type NodeRunners, type RunnerOptions, runnerOf } from './runner.ts';
import { ownPointer } from './task-run.ts';
import { BridgeWorker } from './worker.ts';

type RelayOrOptions = ContextRelay | ContextRelayOptions;
type RunnerAndBridge<K extends keyof NodeRunners> = RunnerOptions<K> & AgentBridgeOptions;

/**
 * Sends tasks to agents, or runs tasks for one agent. A sender calls `pushAndWait`. A process on the agent's
 * machine calls `start`.
 */
export class AgentBridge {
  readonly #client: ContextRelay;
  readonly #options: AgentBridgeOptions;
  readonly #waiters: ResultWaiters;

  constructor(relay: RelayOrOptions = {}, options: AgentBridgeOptions = {}) {
    this.#client = relay instanceof ContextRelay ? relay : new ContextRelay(relay);
    this.#options = options;
    this.#waiters = new ResultWaiters(this.#client);
  }

  /** Creates a bridge to an agent in tmux: `AgentBridge.forTmux(relay, { session: 'work', window: '0' })`. */
  static forTmux(relay: RelayOrOptions, o: RunnerAndBridge<'tmux'>): Promise<AgentBridge> {
    return AgentBridge.#with('tmux', relay, o);
  }

  /**
   * Creates a bridge to a command. The command reads a task from standard input and prints its answer to
   * standard output.
   */
  static forExec(relay: RelayOrOptions, o: RunnerAndBridge<'exec'>): Promise<AgentBridge> {
    return AgentBridge.#with('exec', relay, o);
  }

  /** Creates a bridge to an agent that speaks the Agent Client Protocol. */
  static forAcp(relay: RelayOrOptions, o: RunnerAndBridge<'acp'>): Promise<AgentBridge> {
    return AgentBridge.#with('acp', relay, o);
  }

  get taskChannel(): string {
    return this.#options.taskChannel ?? TASK_CHANNEL;
  }

  get doneChannel(): string {
    return this.#options.doneChannel ?? DONE_CHANNEL;
  }

  /**
   * Returns the channel for tasks to this agent. Without an agent, returns the channel from which all agents
   * take tasks.
   */
  channelFor(agent?: string): string {
    return agent === undefined ? this.taskChannel : directChannel(this.taskChannel, agent);
  }

  /**
   * Sends a task and returns its result as text. Rejects with `task_failed` if the task failed or was
   * canceled, and with `timeout` if no result came in time.
   */
  async pushAndWait(task: string, o: SendOptions & WaitOptions = {}): Promise<string> {
    const answer = await this.sendAndWait(task, o);
    if (answer.status === 'done') return answer.text;
    const { id, text, summary } = answer;
    throw new RelayError('task_failed', { what: summary ?? text.slice(0, TASK_SUMMARY_CHARS), id, text });
  }

  /**
   * Sends a task and returns its result with status, text, summary and URL. Does not reject if the task
   * failed.
   */
  async sendAndWait(task: string, o: SendOptions & WaitOptions = {}): Promise<TaskAnswer> {
    // Listen before sending the task, so that even a very fast result is not missed.
    using listening = await this.#waiters.listen(this.doneChannel);
    const { id } = await this.send(task, o);
    const found = await this.#waitForResult(id, o, (signal) =>
      listening.wait(id, { signal, unmarked: true }),
    );
    return this.#answer(id, found);
  }

  /** Sends a task and does not wait for its result. */
  async send(task: string, o: SendOptions = {}): Promise<SentTask> {
    const channel = this.channelFor(o.to);
    const { encrypted, idempotencyKey, signal } = o;
    // The summary is metadata, which is never encrypted. The default summary quotes the task, so an encrypted task
    // gets none.
    const summary = o.summary ?? (encrypted ? undefined : firstLine(task, SUMMARY_CHARS));
    const metadata = { ...(summary === undefined ? {} : { summary }), done_channel: this.doneChannel };
    const contentType = 'text/plain; charset=utf-8';
    const push = { channel, metadata, contentType, encrypted, idempotencyKey, signal };
    const { id, url } = await this.#client.pushDetailed(task, push);
    return { id, url };
  }

  /** Waits for the result of a task that this or another process has sent. */
  async wait(task: string, o: WaitOptions = {}): Promise<TaskAnswer> {
    const { id } = parsePointer(task);
    const { result, done_channel } = await this.#client.tasks.get(id);
    if (result) return this.#answer(id, result);
    using listening = await this.#waiters.listen(done_channel);
    const found = await this.#waitForResult(id, o, (signal) => listening.wait(id, { signal, strict: true }));
    return this.#answer(id, found);
  }

  /**
   * Takes tasks and runs them until the returned worker is stopped. Resolves when the bridge is in the
   * relay's list of agents.
   */
  async start(): Promise<BridgeWorker> {
    const { runner } = this.#options;
    if (!runner) {
      const hint = 'Pass a `runner`, or use AgentBridge.forTmux, forExec or forAcp.';
      throw badRequest('The bridge has no runner for its tasks.', hint);
    }
    const { taskChannel, doneChannel } = this;
    const options = { ...this.#options, taskChannel, doneChannel, runner, waiters: this.#waiters };
    const worker = new BridgeWorker(this.#client, options);
    await worker.start();
    return worker;
  }

  static async #with<K extends keyof NodeRunners>(kind: K, relay: RelayOrOptions, o: RunnerAndBridge<K>) {
    return new AgentBridge(relay, { ...o, runner: await runnerOf(kind, o) });
  }

  async #waitForResult(
    id: string,
    o: WaitOptions,
    wait: (signal: AbortSignal) => Promise<FoundResult | null>,
  ): Promise<FoundResult> {
    const { timeout = TASK_TIMEOUT_MS, signal } = o;
    const late = AbortSignal.timeout(timeout);
    const found = await wait(signal ? AbortSignal.any([late, signal]) : late);
    if (found) return found;
    const hint = `The task continues. Wait for its result with: relay task wait ${id}`;
    const stopped = { what: 'the wait for the result was canceled', hint, id };
    if (signal?.aborted) throw new RelayError('aborted', stopped, signal.reason);
    throw new RelayError('timeout', { what: `no result within ${timeout / 1000} s`, hint, id });
  }

  async #answer(id: string, { url, status, summary }: FoundResult): Promise<TaskAnswer> {
    const text = await this.#pull(url).catch(async (error) => {
      if (isRelayError(error, 'not_text'))
        return `(binary output: relay pull ${parsePointer(url).id} --out FILE)`;
      if (!isRelayError(error, 'key_missing')) throw error;
      return this.#pull(await announcedResult(this.#client, id, parsePointer(url).id));
    });
    return { id, status, text, summary, url };
  }

  async #pull(url: string): Promise<string> {
    return this.#client.pull(await ownPointer(url, this.#options.resolve));
  }
}

/**
 * Returns the URL of an encrypted result, with the key that decrypts it. The key is only in the message that
 * announced the result, so this function searches the done channel for that message.
 */
export async function announcedResult(client: ContextRelay, id: string, result: string): Promise<string> {
  const { created_at: since, done_channel } = await client.tasks.get(id);
  // Without the channel's key, this client cannot decrypt the messages, so there is nothing to search.
  if (await client.hasChannelKey(done_channel)) {
    const last = await client.channels.position(done_channel);
    const signal = AbortSignal.timeout(LOOK_BACK_MS);
    for await (const { url, metadata, seq } of client.subscribe(done_channel, { since, signal })) {
      const pointer = url && metadata?.task_id === id ? parsePointer(url) : null;
      if (pointer?.id === result && pointer.key !== null) return url!;
      if (seq >= last) break;
    }
  }
  const hint = `The result is encrypted. Add the key of its channel with: relay channel key add ${done_channel}`;
  throw new RelayError('key_missing', { hint });
}

const SUMMARY_CHARS = 80;
/** Time limit in ms for searching the messages of the done channel for a past result. */
const LOOK_BACK_MS = 10_000;
