import { PAGE_ITEMS } from '../../base/limits.ts';
import type { Caller } from '../caller.ts';
import type { Ground } from '../ground.ts';
import type { ThreadsApi } from './api.ts';
import { Artifacts } from './artifacts.ts';
import { BundleExport } from './bundle-export.ts';
import { BundleImport } from './bundle-import.ts';
import { Capabilities } from './capabilities/capabilities.ts';
import type { Capability } from './capabilities/capability.ts';
import { Compactor } from './compactor.ts';
import { Envelopes } from './envelopes.ts';
import { Events } from './events.ts';
import { Headers } from './headers.ts';
import { Holds } from './holds.ts';
import { Ledger, type Stats, sumStats } from './ledger.ts';
import { Removal } from './removal.ts';
import { Render } from './render.ts';
import { Reports } from './reports.ts';
import { ThreadLog } from './thread-log.ts';
import { Threads } from './threads.ts';

/** Everything about threads, put together once for a store. */
export class ThreadHouse {
  readonly log: ThreadLog;
  readonly threads: Threads;
  readonly ledger: Ledger;
  readonly headers: Headers;
  readonly artifacts: Artifacts;
  readonly events: Events;
  readonly envelopes: Envelopes;
  readonly holds: Holds;
  readonly compactor: Compactor;
  readonly removal: Removal;
  readonly reports: Reports;
  readonly render: Render;
  readonly exports: BundleExport;
  readonly imports: BundleImport;
  readonly capabilities: Capabilities;

  constructor(ground: Ground, o: { capabilities?: readonly Capability[] } = {}) {
    this.log = new ThreadLog(ground);
    this.removal = new Removal(ground, this.log);
    this.threads = new Threads(ground, this.log, (tenant, id) => this.removal.finish(tenant, id));
    this.ledger = new Ledger(ground, this.log);
    this.headers = new Headers(ground, this.log, this.ledger);
    this.artifacts = new Artifacts(ground, this.log, this.ledger);
    this.events = new Events(ground, this.log);
    this.envelopes = new Envelopes(ground, this.log);
    this.holds = new Holds(ground, this.log);
    this.compactor = new Compactor(ground, this.log);
    this.reports = new Reports(ground, this.log, this.artifacts, this.ledger);
    this.render = new Render(ground, this.headers, this.artifacts, this.ledger);
    this.exports = new BundleExport(ground, this.log, this.artifacts, this.ledger);
    this.imports = new BundleImport(ground, this.log, this.threads, this.artifacts, this.removal);
    this.capabilities = new Capabilities(ground, this.log, this.artifacts, this.ledger, o.capabilities);
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

export function bindThreads(house: ThreadHouse, caller: Caller): ThreadsApi {
  const { threads, artifacts, events, envelopes } = house;
  const low = (id: string) => id.toLowerCase();
  return {
    create: (o) => threads.create(caller, o),
    list: (o) => threads.list(caller, o),
    get: (id) => threads.get(caller, low(id)),
    delete: (id) => house.delete(caller, low(id)),
    state: (id, o) => threads.state(caller, low(id), o),
    header: (id) => house.headers.read(caller, low(id)),
    patch: (id, input) => threads.patch(caller, low(id), input),
    diff: (id, o) => threads.diff(caller, low(id), o),
    compact: (id) => house.compactor.compact(caller, low(id)),
    replay: (id) => threads.replay(caller, low(id)),
    putArtifact: (id, input) => artifacts.put(caller, low(id), input),
    artifact: (id, ref, o) => artifacts.get(caller, low(id), ref, o),
    content: (id, ref, o) => artifacts.content(caller, low(id), ref, o),
    artifacts: (id, o) => artifacts.list(caller, low(id), o),
    search: async (id, query, o) => ({ hits: await artifacts.search(caller, low(id), query, o) }),
    events: (id, o) => events.list(caller, low(id), o),
    watch: (id, o) => events.watch(caller, low(id), o),
    record: (id, type, payload) => threads.record(caller, low(id), type, payload),
    send: (id, envelope) => envelopes.send(caller, low(id), envelope),
    envelopes: async (id, o) => ({ envelopes: await envelopes.list(caller, low(id), o) }),
    hold: (id, o) => house.holds.hold(caller, low(id), o),
    release: (id, o) => house.holds.release(caller, low(id), o),
    stats: (id) => house.ledger.stats(caller, low(id)),
    totals: async () => sumStats(await house.allStats(caller)),
    report: (id, o) => house.reports.make(caller, low(id), o?.format ?? 'md'),
    render: (id, o) => house.render.render(caller, low(id), o?.format ?? 'openai'),
    export: (id) => house.exports.export(caller, low(id)),
    import: (bundle) => house.imports.import(caller, bundle),
  };
}
