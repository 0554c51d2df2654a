import { PAGE_ITEMS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import { VERBS } from '../../contract/relay.ts';
import type { Stats } from '../../contract/threads/tokens.ts';
import type { Deps } from '../deps.ts';
import { methodsFor, type Serves } from '../relay-binding.ts';
import { Artifacts } from './artifacts.ts';
import { BundleExport } from './bundle-export.ts';
import { BundleImport } from './bundle-import.ts';
import { Capabilities } from './capabilities/capabilities.ts';
import type { Capability } from './capabilities/capability.ts';
import { Compactor } from './compaction.ts';
import { Envelopes } from './envelopes.ts';
import { Events } from './events.ts';
import { Headers } from './headers.ts';
import { Removal } from './removal.ts';
import { Render } from './render.ts';
import { Reports } from './reports.ts';
import { ThreadLeases } from './thread-leases.ts';
import { ThreadLog } from './thread-log.ts';
import { Threads } from './threads.ts';
import { sumStats, TokenLedger } from './token-ledger.ts';

/** The services behind `relay.threads` and `relay.capabilities`, put together once for a store. */
export class ThreadServices {
  readonly log: ThreadLog;
  readonly threads: Threads;
  readonly ledger: TokenLedger;
  readonly headers: Headers;
  readonly artifacts: Artifacts;
  readonly events: Events;
  readonly envelopes: Envelopes;
  readonly leases: ThreadLeases;
  readonly compactor: Compactor;
  readonly removal: Removal;
  readonly reports: Reports;
  readonly render: Render;
  readonly exports: BundleExport;
  readonly imports: BundleImport;
  readonly capabilities: Capabilities;
  readonly verbs: Serves<typeof VERBS.threads>;

  constructor(deps: Deps, o: { capabilities?: readonly Capability[] } = {}) {
    this.log = new ThreadLog(deps);
    this.removal = new Removal(deps, this.log);
    this.threads = new Threads(deps, this.log, (tenant, id) => this.removal.finish(tenant, id));
    this.ledger = new TokenLedger(deps, this.log);
    this.headers = new Headers(deps, this.log, this.ledger);
    this.artifacts = new Artifacts(deps, this.log, this.ledger);
    this.events = new Events(deps, this.log);
    this.envelopes = new Envelopes(deps, this.log);
    this.leases = new ThreadLeases(deps, this.log);
    this.compactor = new Compactor(deps, this.log);
    this.reports = new Reports(deps, this.log, this.artifacts, this.ledger);
    this.render = new Render(deps, this.headers, this.artifacts, this.ledger);
    this.exports = new BundleExport(deps, this.log, this.artifacts, this.ledger);
    this.imports = new BundleImport(deps, this.log, this.threads, this.artifacts, this.removal);
    this.capabilities = new Capabilities(deps, this.log, this.artifacts, this.ledger, o.capabilities);
    this.verbs = this.#bindVerbs();
  }

  /** What does each verb of threads: the method of that name of `Threads` itself, unless it is listed here. */
  #bindVerbs(): Serves<typeof VERBS.threads> {
    const { threads, headers, artifacts, events, envelopes, leases, ledger } = this;
    return {
      ...methodsFor(VERBS.threads, threads),
      delete: (caller, id) => this.delete(caller, id),
      header: (caller, id) => headers.read(caller, id),
      compact: (caller, id) => this.compactor.compact(caller, id),
      putArtifact: (caller, id, input) => artifacts.put(caller, id, input),
      artifact: (caller, id, ref, o) => artifacts.get(caller, id, ref, o),
      content: (caller, id, ref, o) => artifacts.content(caller, id, ref, o),
      artifacts: (caller, id, o) => artifacts.list(caller, id, o),
      search: async (caller, id, query, o) => ({ hits: await artifacts.search(caller, id, query, o) }),
      events: (caller, id, o) => events.list(caller, id, o),
      watch: (caller, id, o) => events.watch(caller, id, o),
      send: (caller, id, envelope) => envelopes.send(caller, id, envelope),
      envelopes: async (caller, id, o) => ({ envelopes: await envelopes.list(caller, id, o) }),
      hold: (caller, id, o) => leases.hold(caller, id, o),
      release: (caller, id, o) => leases.release(caller, id, o),
      stats: (caller, id) => ledger.stats(caller, id),
      totals: async (caller) => sumStats(await this.allStats(caller)),
      report: (caller, id, o) => this.reports.make(caller, id, o?.format ?? 'md'),
      render: (caller, id, o) => this.render.render(caller, id, o?.format ?? 'openai'),
      export: (caller, id) => this.exports.export(caller, id),
      import: (caller, bundle) => this.imports.import(caller, bundle),
    };
  }

  /** Resolves once everything that nobody waited for is done. Call it before the store is closed. */
  settle(): Promise<void> {
    return this.ledger.flush();
  }

  async delete(caller: Caller, id: string): Promise<void> {
    await this.ledger.flush();
    await this.removal.delete(caller, id);
    this.headers.forget(id);
    this.events.forget(id);
  }

  /** The ledger of every thread of the caller. */
  async allStats(caller: Caller): Promise<Stats[]> {
    const all: Stats[] = [];
    let after: string | undefined;
    do {
      const page = await this.threads.list(caller, { after, limit: PAGE_ITEMS });
      for (const { thread_id } of page.threads) all.push(await this.ledger.stats(caller, thread_id));
      after = page.next;
    } while (after !== undefined);
    return all;
  }
}
