import type { Env } from '../base/env.ts';
import { isRelayError } from '../base/errors.ts';
import { lazily } from '../base/lazily.ts';
import { pause } from '../base/pause.ts';
import type { SpendingReport } from '../contract/activity.ts';
import { actingAs, type Caller, type CallerAt, doneBy } from '../contract/caller.ts';
import { type Relay, VERBS } from '../contract/relay.ts';
import type { SweepResult } from '../kernel/engine.ts';
import { ActivityLog, writeStorage } from './activity/activity-log.ts';
import { Agents } from './agents/agents.ts';
import { Claims } from './agents/claims.ts';
import { Messages } from './agents/messages.ts';
import { Sessions } from './agents/sessions.ts';
import { Background } from './background.ts';
import { Channels } from './channels/channels.ts';
import { type ChannelSettings, DEFAULT_CHANNEL_SETTINGS } from './channels/settings.ts';
import type { Deps } from './deps.ts';
import { Files } from './files/files.ts';
import { Inboxes } from './inbox/inboxes.ts';
import { KeyUse } from './keys/key-use.ts';
import { Keys } from './keys/keys.ts';
import { withLease } from './lease.ts';
import { Pointers } from './pointers/pointers.ts';
import { type Allowance, OPEN_ALLOWANCE } from './pointers/push-options.ts';
import { Handles, PointerLookup, releasePointer } from './pointers/record.ts';
import { type ProjectSource, Projects } from './projects/projects.ts';
import { Questions } from './questions/questions.ts';
import { Receipts } from './receipts/receipts.ts';
import { methodsFor, relayBinder, type Services } from './relay-binding.ts';
import { type StoragePart, storageParts } from './storage-parts.ts';
import { TaskResults } from './tasks/results.ts';
import { Tasks } from './tasks/tasks.ts';
import { quotaBytesOf, removeExpiredThreads, threadEnds } from './threads/thread-removal.ts';
import type { ThreadServices } from './threads/thread-services.ts';
import { type PlanOptions, Plans } from './usage/plans.ts';
import { Statistics } from './usage/statistics.ts';
import { Storage } from './usage/storage.ts';
import { Usage } from './usage/usage.ts';

export interface CoreOptions extends PlanOptions {
  /**
   * `keys`: pushes belong to the tenant of the API key, and its plan limits them. `open`: no API key is
   * required. Default: `open`.
   */
  readonly auth?: 'open' | 'keys';
  /** True if no API key is required and other machines can reach the relay. Default: false. */
  readonly exposed?: boolean;
  /** Called with the thread services after they are created and before they are used. */
  readonly onThreads?: (threads: ThreadServices) => Promise<void>;
  readonly channels?: Partial<ChannelSettings>;
  /** True in a process without a server, which publishes delayed messages itself. Default: false. */
  readonly releasesDelayed?: boolean;
  /** Prices of models, which are reported with the spending. None by default. */
  readonly prices?: SpendingReport['prices'];
  /** Source of the projects that the relay shows. None by default. */
  readonly projects?: ProjectSource;
}

/**
 * All domain services on one store. Each service is created at first use, because a core may live for only
 * one command or one request and need few of them.
 */
export class RelayCore {
  readonly deps: Deps;
  readonly storage: Storage;
  readonly background: Background;
  declare readonly lookup: PointerLookup;
  declare readonly results: TaskResults;
  declare readonly pointers: Pointers;
  declare readonly handles: Handles;
  declare readonly channels: Channels;
  declare readonly inboxes: Inboxes;
  declare readonly receipts: Receipts;
  declare readonly statistics: Statistics;
  declare readonly keyUse: KeyUse;
  declare readonly keys: Keys;
  declare readonly plans: Plans;
  declare readonly usage: Usage;
  declare readonly agents: Agents;
  declare readonly messages: Messages;
  declare readonly claims: Claims;
  declare readonly tasks: Tasks;
  declare readonly files: Files;
  declare readonly questions: Questions;
  /**
   * Returns the relay for one caller. `base` is the start of its pointer URLs, for example
   * `https://relay.example`.
   */
  readonly relay: (caller: Caller, base: string, onRead?: CallerAt['onRead']) => Relay;
  /** Returns the caller with the agent name that its client has sent. */
  readonly actingAs = (caller: Caller, agent: string | null | undefined): Caller =>
    actingAs(caller, agent, this.#options.auth !== 'keys');
  readonly #options: CoreOptions;
  #threads: Promise<ThreadServices> | null = null;
  /**
   * Running recounts by tenant. A second call for the same tenant waits for the running recount and does not
   * start another one.
   */
  readonly #recounts = new Map<string, Promise<void>>();

  /** The time comes from the engine, everything else from `env`. */
  constructor(parts: Omit<Deps, 'env' | 'activity'> & { env: Omit<Env, 'now'> }, o: CoreOptions = {}) {
    const { engine, env } = parts;
    const time: Env = { ...env, now: engine.now };
    const deps: Deps = {
      ...parts,
      env: time,
      activity: new ActivityLog({ engine, env: time }),
    };
    this.deps = deps;
    this.#options = o;
    this.background = new Background(deps);
    defineLazy<RelayCore>(this, {
      plans: () => new Plans(deps, o),
      receipts: () => new Receipts(deps, this.lookup),
      statistics: () => new Statistics(deps),
      keyUse: () => new KeyUse(deps),
      lookup: () => new PointerLookup(deps),
      results: () => new TaskResults(deps, this.lookup),
      channels: () => this.#makeChannels(),
      keys: () => {
        const keys = new Keys({ ...deps, keyUse: this.keyUse }, this.plans, o);
        keys.shares.checkThread = async (caller, id) => (await this.threads()).log.meta(caller, id);
        return keys;
      },
      usage: () =>
        new Usage({ ...deps, statistics: this.statistics }, this.plans, async (tenant) => {
          if (!(await this.storage.isCounted(tenant))) await this.recount(tenant);
          return this.storage.used(tenant);
        }),
      handles: () => new Handles(deps),
      pointers: () => new Pointers({ ...this.#parts, allowance: this.#allowance, handles: this.handles }),
      inboxes: () => new Inboxes({ ...this.#parts, background: this.background, actingAs: this.actingAs }),
      questions: () =>
        new Questions(
          deps,
          async () => (await this.threads()).log,
          () => this.keys,
        ),
      claims: () => new Claims(deps),
      agents: () =>
        new Agents({
          deps,
          sessions: new Sessions(deps),
          claims: this.claims,
          messages: () => this.messages,
        }),
      messages: () => {
        const others = (caller: Caller) => this.agents.others(caller);
        const pointers = () => this.pointers;
        return new Messages({ deps, sessions: new Sessions(deps), pointers, others });
      },
      tasks: () => new Tasks({ ...this.#parts, pointers: this.pointers, agents: this.agents }),
      files: () =>
        new Files({ deps, storage: this.storage, background: this.background, allowance: this.#allowance }),
    });
    this.storage = new Storage(deps, o.auth === 'keys' ? this.plans : null);
    this.storage.onDue = (tenant) => this.background.run(() => this.recount(tenant));
    this.relay = relayBinder(
      defineLazy<Services>({} as Services, {
        pointers: () => this.pointers,
        channels: () => ({
          ...methodsFor(VERBS.channels, this.channels),
          ...methodsFor(VERBS.channels, this.channels.groups),
          ...methodsFor(VERBS.channels, this.channels.groups.deadLetters),
        }),
        inbox: () => this.inboxes,
        receipts: () => this.receipts,
        threads: () => async () => (await this.threads()).verbs,
        capabilities: () =>
          lazily(async () => {
            const [{ log }, added] = await Promise.all([this.threads(), deps.capabilities?.()]);
            const { Capabilities } = await import('./threads/capabilities/capabilities.ts');
            return new Capabilities(log, added);
          }),
        files: () => this.files,
        keys: () => this.keys,
        usage: () => this.usage,
        tasks: () => this.tasks,
        agents: () => ({
          ...methodsFor(VERBS.agents, this.agents),
          ...methodsFor(VERBS.agents, this.messages),
          ...methodsFor(VERBS.agents, this.claims),
        }),
        activity: () => async () => {
          const { Activities } = await import('./activity/activity.ts');
          return new Activities(deps, deps.activity, o.prices);
        },
        shares: () => this.keys.shares,
        projects: () => new Projects(o.projects ?? null),
        questions: () => this.questions,
      }),
    );
  }

  /** Dependencies that several services share. */
  get #parts() {
    const { deps, lookup, channels, receipts, results } = this;
    return { deps, lookup, channels, receipts, results };
  }

  #makeChannels(): Channels {
    const { deps, storage, background, lookup, results } = this;
    return new Channels({
      ...deps,
      settings: { ...DEFAULT_CHANNEL_SETTINGS, ...this.#options.channels },
      storage,
      releasesDelayed: this.#options.releasesDelayed ?? false,
      pointers: lookup,
      isCanceled: (pointer) => results.isCanceled(pointer),
      onAcked: (caller, at) => {
        deps.activity.note(caller.tenant, { kind: 'group.acked', ...doneBy(caller), ...at });
        background.run(() => this.#acked(caller, at));
      },
      onDead: (tenant, letter) => {
        const { channel, group, seq, reason } = letter.dead;
        deps.activity.note(tenant, { kind: 'group.dead', by: 'relay', channel, group, seq, status: reason });
        if (letter.pointer !== undefined) this.receipts.dead(letter.pointer, letter.dead);
        background.run(() => this.tasks.onDeadTask(tenant, letter));
      },
      resend: (caller, letter) => this.tasks.resend(caller, letter),
    });
  }

  get #allowance(): Allowance {
    if (this.#options.auth === 'keys') return this.usage;
    const { statistics } = this.usage;
    return { ...OPEN_ALLOWANCE, note: statistics.note.bind(statistics) };
  }

  /** Returns the thread services. They are created at first use. */
  threads(): Promise<ThreadServices> {
    const load = async () => {
      const { ThreadServices } = await import('./threads/thread-services.ts');
      const threads = new ThreadServices(this.deps, this.storage);
      await this.#options.onThreads?.(threads);
      return threads;
    };
    this.#threads ??= load().catch((error) => {
      this.#threads = null;
      throw error;
    });
    return this.#threads;
  }

  /**
   * Deletes expired data. Channels are swept only for the given tenants and for tenants that used a channel
   * in this process. A server calls this about every minute. If several servers use one store, only one of
   * them sweeps the data of the domain at a time.
   */
  async sweepStore(tenants: Iterable<string> = []): Promise<SweepResult> {
    await unlessFull(() => this.keys.use.flush());
    const sweep = async () => {
      await unlessFull(() => this.#sweepEnded());
      await unlessFull(() => this.#sweepTenants(tenants));
    };
    await withLease(this.deps, SWEEP_LEASE, sweep, { frees: true });
    return this.deps.engine.sweep();
  }

  /** Measures a tenant's storage and corrects the stored sum, which may be too high after a crash. */
  recount(tenant: string): Promise<void> {
    const recount = async () => {
      await removeExpiredThreads((await this.threads()).log);
      await this.files.store.removeExpired();
      await this.storage.recount(tenant, async () => {
        let bytes = 0;
        for await (const part of storageParts(this.deps.engine.records, tenant)) {
          bytes += await this.#bytesOf(part);
          await pause(0);
        }
        return bytes;
      });
    };
    const running = this.#recounts.get(tenant) ?? recount().finally(() => this.#recounts.delete(tenant));
    this.#recounts.set(tenant, running);
    return running;
  }

  /**
   * Returns the size of a channel, a thread or a space of files, in bytes. For a space, it also deletes the orphans
   * that crashes have left.
   */
  async #bytesOf({ tenant, kind, name, expires }: StoragePart): Promise<number> {
    if (kind === 'channel') return this.channels.bytesOf(tenant, name);
    if (kind === 'thread') return quotaBytesOf((await this.threads()).log, { tenant, id: name, expires });
    const { store } = this.files;
    await store.removeOrphansIn({ tenant, space: name });
    return store.bytesIn({ tenant, space: name });
  }

  /** Deletes expired items and publishes delayed messages that are due. */
  async #sweepEnded(): Promise<void> {
    await this.receipts.sweep();
    await this.channels.delayed.release();
    if (await threadEnds(this.deps).hasDue()) await removeExpiredThreads((await this.threads()).log);
    await this.files.store.removeExpired();
  }

  async #sweepTenants(tenants: Iterable<string>): Promise<void> {
    await this.channels.sweep(tenants);
    await this.noteStorage();
    for (const tenant of this.storage.limited) {
      if (await this.storage.isDue(tenant)) await this.recount(tenant);
    }
  }

  /** Writes all data that is still in memory. The code that opened the store closes it afterwards. */
  async close(): Promise<void> {
    if (this.#threads) (await this.#threads).log.closing();
    // Wait for background work such as recounts first, because it may use the thread services. These may then
    // start more background work, so wait for it a second time.
    await this.background.settle();
    if (this.#threads) await (await this.#threads).log.settle();
    await this.background.settle();
    if (isMade(this, 'channels')) await this.channels.close();
    if (isMade(this, 'receipts')) await this.receipts.flush();
    if (isMade(this, 'statistics')) await this.statistics.flush();
    if (isMade(this, 'keyUse')) await this.keyUse.flush();
    await this.deps.activity.flush();
  }

  /** Measures the storage of recently active tenants and stores the sizes in the figures of their activity. */
  async noteStorage(): Promise<void> {
    const { activeTenants } = this.deps.activity;
    const tenants = [...activeTenants];
    activeTenants.clear();
    for (const tenant of tenants) await writeStorage(this.deps, tenant, await this.storage.used(tenant));
  }

  /**
   * Called after an acknowledgement. Writes the receipt. If no group needs the message any more, the pointer
   * expires at its requested time.
   */
  async #acked(caller: Caller, at: { channel: string; group: string; seq: number }): Promise<void> {
    const { channel, group, seq } = at;
    const pointer = await this.channels.pointerOf(caller.tenant, channel, seq);
    if (pointer === null) return;
    this.receipts.acked(pointer, caller, group);
    if (!(await this.channels.groups.isNeeded(caller.tenant, channel, seq)))
      await releasePointer(this.deps, pointer);
  }
}

/** Defines properties that are computed at first read. */
function defineLazy<T extends object>(target: T, makers: { readonly [K in keyof T]?: () => T[K] }): T {
  for (const [name, make] of Object.entries(makers) as [string, () => unknown][]) {
    const get = () => {
      const value = make();
      Object.defineProperty(target, name, { value });
      return value;
    };
    Object.defineProperty(target, name, { get, configurable: true });
  }
  return target;
}

/** Returns whether a property that `defineLazy` defined has been read. */
function isMade<T extends object>(target: T, name: keyof T): boolean {
  return Object.getOwnPropertyDescriptor(target, name)?.value !== undefined;
}

/** Runs a step of a sweep. Ignores `store_full`, because later steps can free space. */
async function unlessFull(work: () => Promise<unknown>): Promise<void> {
  await work().catch((error) => {
    if (!isRelayError(error, 'store_full')) throw error;
  });
}

/** Key of the lease of the server that sweeps. The next sweep continues unfinished work. */
const SWEEP_LEASE = 'sys/tidying';
