import type { VERBS } from '../../contract/relay.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { Deps } from '../deps.ts';
import type { Serves } from '../relay-binding.ts';
import type { Storage } from '../usage/storage.ts';
import { searchArtifacts } from './artifact-search.ts';
import { getArtifact, listArtifacts, putArtifact, readContent } from './artifacts.ts';
import { compactIfLong, compactThread } from './compaction.ts';
import { listEvents, recordEvent, watchEvents } from './events.ts';
import { ThreadLog, type ThreadVerb } from './thread-log.ts';
import { countedFor, deleteThread, removeExpiredThreads } from './thread-removal.ts';
import * as threads from './threads.ts';

/** What stands behind `relay.threads`, put together once for a store. */
export class ThreadServices {
  readonly log: ThreadLog;
  readonly verbs: Serves<typeof VERBS.threads>;

  constructor(deps: Deps, storage: Storage) {
    const log = new ThreadLog(deps, storage);
    log.followers.push({
      appended: (head, event) => {
        compactIfLong(log, head, event);
        if (event.type.startsWith('pipeline.')) {
          log.background.run(async () => (await runs()).noteRun(log, head.root, event));
        }
      },
    });
    log.totals.onMany = (tenant) =>
      log.background.run(async () => (await reports()).tenantFigures(log, tenant));
    this.log = log;
    const bound = Object.entries(BEHIND).map(([name, verb]) => [
      name,
      (...args: unknown[]) => (verb as (log: ThreadLog, ...args: unknown[]) => unknown)(log, ...args),
    ]);
    this.verbs = Object.fromEntries(bound);
  }

  /** What the threads of a tenant take up. */
  async bytesOf(tenant: string): Promise<number> {
    const figures = await (await reports()).tenantFigures(this.log, tenant);
    return figures.reduce((sum, { stored }) => sum + stored, 0);
  }

  /** The same of one, which the list says to end then. */
  bytesIn(tenant: string, id: string, expires?: number): Promise<number> {
    return countedFor(this.log, { tenant, id, expires });
  }

  /** Deletes what is left of threads that have expired. */
  removeExpired(most?: number): Promise<void> {
    return removeExpiredThreads(this.log, most);
  }

  /** Resolves once everything that nobody waited for is done. Call it before the store is closed. */
  settle(): Promise<void> {
    return this.log.ledger.flush();
  }
}

const deletion = () => import('./artifact-deletion.ts');
const envelopes = () => import('./envelopes.ts');
const exports = () => import('./bundle-export.ts');
const headers = () => import('./headers.ts');
const imports = () => import('./bundle-import.ts');
const leases = () => import('./thread-leases.ts');
const parts = () => import('./artifact-parts.ts');
const render = () => import('./render.ts');
const reports = () => import('./reports.ts');
const runs = () => import('./pipeline-runs.ts');

/** A verb of a part that is loaded when it is first called: a command needs one or two of all these. */
function late<M extends keyof ThreadsApi, V extends string, P extends { [name in V]: ThreadVerb<M> }>(
  load: () => Promise<P>,
  name: V,
): ThreadVerb<M> {
  let part: P | undefined;
  const verb = async (...args: Parameters<ThreadVerb<M>>) => {
    part ??= await load();
    return part[name](...args);
  };
  return verb as ThreadVerb<M>;
}

/** What does each verb of threads. */
const BEHIND: { readonly [M in keyof ThreadsApi]: ThreadVerb<M> } = {
  create: threads.createThread,
  list: threads.listThreads,
  get: threads.getThread,
  delete: deleteThread,
  state: threads.readState,
  header: late(headers, 'readHeader'),
  patch: threads.patchThread,
  revert: threads.revertThread,
  diff: threads.diffVersions,
  blame: threads.blameState,
  compact: compactThread,
  replay: threads.replayThread,
  events: listEvents,
  watch: watchEvents,
  record: recordEvent,
  send: late(envelopes, 'sendEnvelope'),
  envelopes: late(envelopes, 'listEnvelopes'),
  hold: late(leases, 'holdThread'),
  release: late(leases, 'releaseThread'),
  runs: late(runs, 'listRuns'),
  run: late(runs, 'readRun'),
  stats: late(reports, 'threadStats'),
  shown: late(reports, 'tellShown'),
  totals: late(reports, 'totalStats'),
  export: late(exports, 'exportThread'),
  import: late(imports, 'importThread'),
  putArtifact: (log, caller, id, input) => putArtifact(log, caller, id, input),
  artifacts: listArtifacts,
  artifact: getArtifact,
  content: readContent,
  part: late(parts, 'readPart'),
  deleteArtifact: late(deletion, 'deleteArtifact'),
  search: async (log, caller, id, q, o = {}) => {
    const { root } = await log.meta(caller, id);
    const answer = { hits: await searchArtifacts(log, caller, id, q, o) };
    if (o.counted ?? true) log.ledger.answerRead(root, 'searches', answer);
    return answer;
  },
  report: late(reports, 'makeReport'),
  render: late(render, 'renderThread'),
};
