import type { Env } from '../base/env.ts';
import { isRelayError } from '../base/errors.ts';
import type { Caller, CallerAt } from '../contract/caller.ts';
import { type Relay, VERBS } from '../contract/relay.ts';
import type { Swept } from '../kernel/engine.ts';
import { Activities } from './activity/activity.ts';
import { writeStorage } from './activity/figures.ts';
import { Background } from './background.ts';
import { Channels } from './channels/channels.ts';
import { type ChannelSettings, DEFAULT_CHANNEL_SETTINGS } from './channels/settings.ts';
import type { Deps } from './deps.ts';
import { fileEnds } from './files/file-ends.ts';
import { Files } from './files/files.ts';
import { Inboxes } from './inbox/inboxes.ts';
import { Keys } from './keys/keys.ts';
import { Pointers } from './pointers/pointers.ts';
import { type Allowance, OPEN_ALLOWANCE } from './pointers/push-options.ts';
import { PointerLookup, releasePointer } from './pointers/record.ts';
import { type ProjectSource, Projects } from './projects/projects.ts';
import type { Receipts } from './receipts/receipts.ts';
import { methodsFor, relayBinder } from './relay-binding.ts';
import { Shared } from './shared.ts';
import type { StoragePart } from './storage-parts.ts';
import { Agents } from './tasks/agents.ts';
import { TaskResults } from './tasks/results.ts';
import { Tasks } from './tasks/tasks.ts';
import { Capabilities } from './threads/capabilities/capabilities.ts';
import { threadEnds } from './threads/thread-expiry.ts';
import { ThreadServices } from './threads/thread-services.ts';
import { underTidyLease } from './tidy-lease.ts';
import { type PlanOptions, Plans } from './usage/plans.ts';
import { Storage } from './usage/storage.ts';
import { Usage } from './usage/usage.ts';

export interface CoreOptions extends PlanOptions {
  /** `keys`: what is pushed is the tenant's own and counts against its plan. `open` by default. */
  readonly auth?: 'open' | 'keys';
  /** Nobody is asked for a key, and others can reach the relay; false by default. */
  readonly exposed?: boolean;
  /** Told of the part for threads when it is first used, before anything is done with it. */
  readonly onThreads?: (threads: ThreadServices) => Promise<void>;
  readonly channels?: Partial<ChannelSettings>;
  /** Has a recount done where a core does not live long enough for it; by the core itself by default. */
  readonly recount?: (tenant: string) => Promise<void>;
  /** What it has in common with other cores of this process; its own by default. */
  readonly shared?: Shared;
  /** The projects to show; none by default. */
  readonly projects?: ProjectSource;
}

/** The domain, put together once for a store. */
export class RelayCore {
  readonly deps: Deps;
  readonly pointers: Pointers;
  readonly channels: Channels;
  readonly inboxes: Inboxes;
  readonly receipts: Receipts;
  readonly keys: Keys;
  readonly plans: Plans;
  readonly usage: Usage;
  readonly storage: Storage;
  readonly agents: Agents;
  readonly tasks: Tasks;
  readonly background: Background;
  /** The relay as one caller sees it. `base` is where its pointers can be reached: `https://relay.example`. */
  readonly relay: (caller: Caller, base: string, onRead?: CallerAt['onRead']) => Relay;
  readonly #onThreads: CoreOptions['onThreads'];
  readonly #allowance: Allowance;
  readonly #shared: Shared;
  #threads: Promise<ThreadServices> | null = null;
  #capabilities: Promise<Capabilities> | null = null;
  #files: Promise<Files> | null = null;
  /** By tenant; who asks while one is under way waits for that. */
  readonly #recounts = new Map<string, Promise<void>>();
  readonly #recountElsewhere: CoreOptions['recount'];

  /** Of `env` only the chance is used: the engine tells the time. */
  constructor(
    given: Omit<Deps, 'env' | 'activity'> & { env: Pick<Env, 'randomBytes'> },
    o: CoreOptions = {},
  ) {
    const { engine, env } = given;
    const time = { randomBytes: env.randomBytes, now: engine.now };
    const shared = o.shared ?? new Shared(given);
    const { activity } = shared;
    const deps: Deps = { ...given, env: time, activity };
    this.deps = deps;
    this.#onThreads = o.onThreads;
    this.#recountElsewhere = o.recount;
    const background = new Background(deps);
    this.background = background;
    const lookup = new PointerLookup(deps);
    this.#shared = shared;
    this.receipts = shared.receipts;
    const results = new TaskResults(deps, lookup);
    const settings = { ...DEFAULT_CHANNEL_SETTINGS, ...o.channels };
    this.plans = new Plans(deps, o);
    const storage = new Storage(deps, o.auth === 'keys' ? this.plans : null, shared.countedAhead);
    storage.onDue = (tenant) => background.run(() => this.recount(tenant));
    this.storage = storage;
    this.channels = new Channels({
      ...deps,
      shared,
      settings,
      storage,
      pointers: lookup,
      isCanceled: (pointer) => results.isCanceled(pointer),
      onAcked: (caller, at) => {
        activity.note(caller.tenant, { kind: 'group.acked', by: caller.name, ...at });
        background.run(() => this.#acked(caller, at));
      },
      onDead: (tenant, letter) => {
        const { channel, group, seq, reason } = letter.dead;
        activity.note(tenant, { kind: 'group.dead', by: 'relay', channel, group, seq, status: reason });
        if (letter.pointer !== undefined) this.receipts.dead(letter.pointer, letter.dead);
        background.run(() => this.tasks.buried(tenant, letter));
      },
      resend: (caller, letter) => this.tasks.resend(caller, letter),
    });
    this.keys = new Keys({ ...deps, shared }, this.plans, o);
    this.keys.shares.checkThread = async (caller, id) => (await this.threads()).log.meta(caller, id);
    this.usage = new Usage({ ...deps, shared }, this.plans, async (tenant) => {
      if (!(await storage.isCounted(tenant))) await this.recount(tenant);
      return storage.used(tenant);
    });
    const { channels, receipts } = this;
    const allowance = o.auth === 'keys' ? this.usage : OPEN_ALLOWANCE;
    this.#allowance = allowance;
    this.pointers = new Pointers({ deps, lookup, channels, receipts, allowance, results });
    const { pointers } = this;
    this.inboxes = new Inboxes({ deps, channels, receipts, background });
    this.agents = new Agents(deps);
    const { agents } = this;
    this.tasks = new Tasks({ deps, lookup, pointers, channels, receipts, results, agents });
    const { inboxes: inbox, keys, usage, tasks } = this;
    const threads = async () => (await this.threads()).verbs;
    this.relay = relayBinder({
      pointers,
      get channels() {
        return {
          ...methodsFor(VERBS.channels, channels),
          ...methodsFor(VERBS.channels, channels.groups),
          ...methodsFor(VERBS.channels, channels.groups.deadLetters),
        };
      },
      inbox,
      receipts,
      threads,
      capabilities: () => this.#loadCapabilities(),
      files: () => this.files(),
      keys,
      usage,
      tasks,
      agents,
      activity: new Activities(deps, activity),
      shares: keys.shares,
      projects: new Projects(o.projects ?? null),
    });
  }

  /** Everything about threads; loaded at the first use. */
  threads(): Promise<ThreadServices> {
    const load = async () => {
      const threads = new ThreadServices(this.deps, this.storage);
      await this.#onThreads?.(threads);
      return threads;
    };
    this.#threads ??= load().catch((error) => {
      this.#threads = null;
      throw error;
    });
    return this.#threads;
  }

  /** What threads can have done; loaded at the first use. */
  #loadCapabilities(): Promise<Capabilities> {
    const load = async () => {
      const [{ log }, added] = await Promise.all([this.threads(), this.deps.capabilities?.()]);
      return new Capabilities(log, added);
    };
    this.#capabilities ??= load().catch((error) => {
      this.#capabilities = null;
      throw error;
    });
    return this.#capabilities;
  }

  /** Everything about files; loaded at the first use. */
  files(): Promise<Files> {
    const { deps, storage, background } = this;
    this.#files ??= Promise.resolve(new Files({ deps, storage, background, allowance: this.#allowance }));
    return this.#files;
  }

  /**
   * Drops what need not be kept any longer, of these tenants and of all who were here: every minute or so. Of several servers on
   * one store one does it at a time.
   */
  async tidy(tenants: Iterable<string> = []): Promise<Swept> {
    await unlessFull(() => this.keys.use.flush());
    await underTidyLease(this.deps, async () => {
      await unlessFull(() => this.tidySome());
      await unlessFull(() => this.#tidyTenants(tenants));
    });
    return this.deps.engine.sweep();
  }

  /** Adds up what a tenant stores, and puts its running sum right where a crash left that too high. */
  recount(tenant: string): Promise<void> {
    const recount = async () => {
      if (this.#recountElsewhere) return this.#recountElsewhere(tenant);
      const threads = await this.threads();
      const { store: files } = await this.files();
      await threads.removeExpired();
      await files.removeExpired();
      await files.removeOrphans(tenant);
      await this.storage.recount(tenant, async () => {
        const channels = await this.channels.bytesOf(tenant);
        return channels + (await threads.bytesOf(tenant)) + (await files.bytesOf(tenant));
      });
    };
    const running = this.#recounts.get(tenant) ?? recount().finally(() => this.#recounts.delete(tenant));
    this.#recounts.set(tenant, running);
    return running;
  }

  /** What a part of a tenant's storage takes up, for a recount in rounds; what crashes left in a space is removed with it. */
  async bytesOf({ tenant, kind, name, expires }: StoragePart): Promise<number> {
    if (kind === 'channel') return this.channels.bytesOf(tenant, name);
    if (kind === 'thread') return (await this.threads()).bytesIn(tenant, name, expires);
    const { store } = await this.files();
    await store.removeOrphansIn({ tenant, space: name });
    return store.bytesIn({ tenant, space: name });
  }

  /**
   * Removes what has ended; false where there may be more. With `most`, so many receipts or what takes about as many calls of an engine:
   * a thread takes eight times as many, a file four times.
   */
  async tidySome(most = Number.POSITIVE_INFINITY): Promise<boolean> {
    if (!(await this.receipts.tidy(most))) return false;
    const threads = await threadEnds(this.deps).hasDue();
    if (threads) await (await this.threads()).removeExpired(Math.ceil(most / 8));
    if (threads && most < Number.POSITIVE_INFINITY) return false;
    const files = await fileEnds(this.deps).hasDue();
    if (files) await (await this.files()).store.removeExpired(Math.ceil(most / 4));
    return !threads && !files;
  }

  async #tidyTenants(tenants: Iterable<string>): Promise<void> {
    await this.channels.tidy(tenants);
    await this.noteStorage();
    for (const tenant of this.storage.limited) {
      if (await this.storage.isDue(tenant)) await this.recount(tenant);
    }
  }

  /** Writes what waits to be written. The store itself is closed after this, by whoever opened it. */
  async close(): Promise<void> {
    if (this.#threads) (await this.#threads).log.closing();
    // A recount may use threads, and leave them something to finish.
    await this.background.settle();
    if (this.#threads) await (await this.#threads).settle();
    await this.background.settle();
    await this.channels.close();
    await this.#shared.flush();
  }

  /** What those store who were active lately, for their figures; `most` of them at once. */
  async noteStorage({ seen } = this.deps.activity, most = Number.POSITIVE_INFINITY): Promise<void> {
    const tenants = [...seen].slice(0, most);
    for (const tenant of tenants) seen.delete(tenant);
    for (const tenant of tenants) await writeStorage(this.deps, tenant, await this.storage.used(tenant));
  }

  /** After work was acknowledged: the receipt, and an end to keeping its pointer longer than was asked for. */
  async #acked(caller: Caller, at: { channel: string; group: string; seq: number }): Promise<void> {
    const { channel, group, seq } = at;
    const pointer = await this.channels.pointerOf(caller.tenant, channel, seq);
    if (pointer === null) return;
    this.receipts.acked(pointer, caller.name, group);
    if (!(await this.channels.groups.wanted(caller.tenant, channel, seq)))
      await releasePointer(this.deps, pointer);
  }
}

/** Work of housekeeping that a store without room does not take must not keep the rest, which makes room, from being done. */
async function unlessFull(work: () => Promise<unknown>): Promise<void> {
  await work().catch((error) => {
    if (!isRelayError(error, 'store_full')) throw error;
  });
}
