import { systemEnv } from '../../base/env.ts';
import { badRequest } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { AGENT_BEAT_MS, BRIDGE_TASKS } from '../../base/limits.ts';
import { deferred, pause } from '../../base/pause.ts';
import type { Bridge } from '../../contract/agents.ts';
import { parsePointer } from '../../contract/pointer-url.ts';
import { directChannel, TASK_GROUP } from '../../contract/tasks.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { keepExtending, type ReceivedMessage, type Subscription } from '../../sdk/subscription.ts';
import type { AgentBridgeOptions } from './options.ts';
import type { StuckReason } from './runner.ts';
import { errorText, LEAVE_MS, runTask, type WorkerOptions } from './task-run.ts';

/**
 * Takes tasks from the channel of all bridges, and from the channel of its own agent. It runs each task under a
 * lease and delivers the result of the task. The worker ends when it is stopped, or when the relay permanently
 * rejects the requests of the worker.
 */
export class BridgeWorker implements AsyncDisposable {
  readonly name: string;
  /** Resolves when the worker has stopped. Rejects when the worker cannot continue. */
  readonly ended: Promise<void>;
  readonly #client: ContextRelay;
  readonly #options: WorkerOptions;
  readonly #instance = toHex(systemEnv.randomBytes(6));
  readonly #started = new Date(systemEnv.now()).toISOString();
  readonly #stopping = new AbortController();
  /** Running tasks: the promise of each task, and the id of the task. */
  readonly #running = new Map<Promise<void>, string>();
  /** Task id → reason why the task is stuck. */
  readonly #stuck = new Map<string, string>();
  /** Maximum number of tasks that run at the same time. */
  readonly #slots: number;
  readonly #subscriptions: Subscription[] = [];
  readonly #following: Promise<void>[] = [];
  readonly #counts = { done: 0, failed: 0 };
  #beating: ReturnType<typeof setInterval> | undefined;
  readonly #end = deferred<void>();

  constructor(
    client: ContextRelay,
    options: Omit<WorkerOptions, 'name' | 'onStuck'> & Pick<AgentBridgeOptions, 'name'>,
  ) {
    this.#client = client;
    this.name = options.name ?? `${options.runner.kind}-${this.#instance.slice(0, 6)}`;
    this.#options = { ...options, name: this.name, onStuck: (id, reason) => this.#noteStuck(id, reason) };
    this.#slots = checkConcurrency(options);
    this.ended = this.#end.promise;
    // Handle a rejection of `ended` here. Otherwise, if no caller awaits `ended`, the runtime would report an
    // unhandled rejection.
    this.ended.catch(() => {});
  }

  async start(): Promise<void> {
    const { runner, taskChannel, onEvent } = this.#options;
    await runner.open?.();
    // An older relay has no list of agents. Treat it like an empty list.
    const { agents } = await this.#client.agents.list().catch(() => ({ agents: [] }));
    const twin = agents.find(({ name, alive, kind }) => kind === 'bridge' && alive && name === this.name);
    const warning = `Another bridge named ${JSON.stringify(this.name)} is running. A task for this name goes to either of them; use --name for another name.`;
    if (twin) this.#trouble(warning);
    await this.#beat(true);
    this.#beating = setInterval(() => this.#beat(), AGENT_BEAT_MS);
    const channels = [directChannel(taskChannel, this.name), taskChannel];
    for (const channel of channels) {
      const o = { group: TASK_GROUP, prefetch: this.#slots, signal: this.#stopping.signal };
      const subscription = this.#client.subscribe(channel, o);
      this.#subscriptions.push(subscription);
      this.#following.push(this.#follow(subscription).catch((error) => void this.#stopWith(error)));
    }
    onEvent?.({ type: 'ready', name: this.name, channels });
  }

  /** Stops the worker. It gives its running tasks back, so that another bridge can take them. */
  async stop(): Promise<void> {
    await this.#shutDown();
    this.#end.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stopWith(error: unknown): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    // Ignore errors of the cleanup: `ended` rejects with the error that stopped the bridge.
    await this.#shutDown().catch(() => {});
    this.#end.reject(error);
  }

  async #shutDown(): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#beating);
    await Promise.all(this.#subscriptions.map((each) => each.close()));
    // Wait until all running tasks have ended or were given back, and until the relay has noticed that this
    // bridge left.
    await Promise.all([...this.#running.keys(), ...this.#following, pause(LEAVE_MS)]);
    await this.#options.runner.close();
    // Ignore an error here: the relay soon notices that the heartbeats are missing.
    await this.#client.agents.leave(this.name, this.#instance).catch(() => {});
  }

  async #follow(subscription: Subscription): Promise<void> {
    for await (const message of subscription) {
      const leaseLost = new AbortController();
      const lease = keepExtending(message, () => leaseLost.abort());
      // The message now waits for a free slot. Keep extending its lease meanwhile, otherwise another bridge
      // would get it.
      const stopping = this.#stopping.signal;
      while (this.#running.size >= this.#slots && !stopping.aborted) await Promise.race(this.#running.keys());
      if (stopping.aborted) {
        lease.stop();
        // Ignore an error here: if the message is not given back now, the group gets it when its lease ends.
        await message.nack().catch(() => {});
        return;
      }
      const id = message.url ? parsePointer(message.url).id : '';
      const work: Promise<void> = this.#take(message, leaseLost.signal).finally(() => {
        lease.stop();
        this.#running.delete(work);
        this.#stuck.delete(id);
        void this.#beat();
      });
      this.#running.set(work, id);
      void this.#beat();
    }
  }

  #noteStuck(id: string, reason: StuckReason | null): void {
    const why = reason && `${reason.why}${reason.asked ? `: ${reason.asked}` : '.'}`;
    if (why === (this.#stuck.get(id) ?? null)) return;
    if (why === null) this.#stuck.delete(id);
    else this.#stuck.set(id, why);
    this.#options.onEvent?.({ type: 'stuck', id, why });
    void this.#beat();
  }

  async #take(message: ReceivedMessage, lost: AbortSignal): Promise<void> {
    try {
      const status = await runTask(this.#client, this.#options, message, lost, this.#stopping.signal);
      if (status) this.#counts[status]++;
    } catch (error) {
      // The task has no result. Give it back, so that another bridge can try it.
      this.#trouble(error);
      const nacked = await message.nack().catch(() => null);
      if (!nacked?.dead) return;
      const { channel, seq, attempt } = message;
      this.#trouble(
        `Message ${seq} failed ${attempt} times and is now a dead letter. See: relay channel dead list ${channel}`,
      );
    }
  }

  /**
   * Sends a heartbeat. Throws only if the first heartbeat fails. A later failure is only reported, because
   * the next heartbeat follows.
   */
  async #beat(first = false): Promise<void> {
    const { runner, taskChannel, doneChannel } = this.#options;
    if (this.#stopping.signal.aborted) return;
    const bridge: Bridge = {
      instance: this.#instance,
      runner: runner.kind,
      target: runner.target,
      task_channel: taskChannel,
      done_channel: doneChannel,
      concurrency: this.#slots,
      running: [...this.#running.values()].filter((id) => id !== ''),
      ...(this.#stuck.size > 0 ? { stuck: Object.fromEntries(this.#stuck) } : {}),
      ...this.#counts,
      started_at: this.#started,
    };
    try {
      await this.#client.agents.beat(this.name, bridge);
    } catch (error) {
      if (first) throw error;
      this.#trouble(error);
    }
  }

  #trouble(error: unknown): void {
    this.#options.onEvent?.({ type: 'trouble', what: errorText(error) });
  }
}

function checkConcurrency({ concurrency: at = 1, runner }: Pick<WorkerOptions, 'concurrency' | 'runner'>) {
  if (Number.isInteger(at) && at >= 1 && at <= BRIDGE_TASKS) return Math.min(at, runner.slots ?? at);
  throw badRequest(`"concurrency" must be a whole number from 1 to ${BRIDGE_TASKS}.`);
}
