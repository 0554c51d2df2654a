import type { VERBS } from '../../contract/relay.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { Deps } from '../deps.ts';
import type { Serves } from '../relay-binding.ts';
import type { Storage } from '../usage/storage.ts';
import { findUnsearched, searchArtifacts } from './artifact-search.ts';
import {
  deleteArtifact,
  getArtifact,
  listArtifacts,
  putArtifact,
  readContent,
  readPart,
} from './artifacts.ts';
import { exportThread } from './bundle-export.ts';
import { importThread } from './bundle-import.ts';
import { compactIfLong, compactThread } from './compaction.ts';
import { listEnvelopes, listEvents, recordEvent, sendEnvelope, watchEvents } from './events.ts';
import { readHeader } from './headers.ts';
import { listRuns, noteRun, readRun } from './pipeline-runs.ts';
import { renderThread } from './render.ts';
import { makeReport, tellShown, threadStats, totalStats } from './reports.ts';
import { ThreadLog, type ThreadVerb } from './thread-log.ts';
import { countedFor, deleteThread, removeExpiredThreads } from './thread-removal.ts';
import * as threads from './threads.ts';
import { holdThread, releaseThread } from './threads.ts';

/** While a state stays too long whatever is done, it is not looked through after every event. */
const COMPACT_EVERY = 50;

/** What stands behind `relay.threads`, put together once for a store. */
export class ThreadServices {
  readonly log: ThreadLog;
  readonly verbs: Serves<typeof VERBS.threads>;

  constructor(deps: Deps, storage: Storage) {
    const log = new ThreadLog(deps, storage);
    log.followers.push({
      appended: (head, event) => {
        if (head.count % COMPACT_EVERY === 0) compactIfLong(log, head, event);
        if (event.type.startsWith('pipeline.')) {
          log.background.run(async () => noteRun(log, head.root, event));
        }
      },
    });
    this.log = log;
    const bound = Object.entries(BEHIND).map(([name, verb]) => [
      name,
      (...args: unknown[]) => (verb as (log: ThreadLog, ...args: unknown[]) => unknown)(log, ...args),
    ]);
    this.verbs = Object.fromEntries(bound);
  }

  /** Bytes that one thread takes up. `expires`: when the thread ends, according to the list of threads. */
  bytesIn(tenant: string, id: string, expires?: number): Promise<number> {
    return countedFor(this.log, { tenant, id, expires });
  }

  /** Deletes what is left of threads that have expired. */
  removeExpired(most?: number): Promise<void> {
    return removeExpiredThreads(this.log, most);
  }

  /** Resolves once everything that nobody waited for is done. Call it before the store is closed. */
  settle(): Promise<void> {
    return this.log.settle();
  }
}

/** What does each verb of threads. */
const BEHIND: { readonly [M in keyof ThreadsApi]: ThreadVerb<M> } = {
  create: threads.createThread,
  list: threads.listThreads,
  get: threads.getThread,
  delete: deleteThread,
  state: threads.readState,
  header: readHeader,
  patch: threads.patchThread,
  revert: threads.revertThread,
  diff: threads.diffVersions,
  blame: threads.blameState,
  compact: compactThread,
  replay: threads.replayThread,
  events: listEvents,
  watch: watchEvents,
  record: recordEvent,
  send: sendEnvelope,
  envelopes: listEnvelopes,
  hold: holdThread,
  release: releaseThread,
  runs: listRuns,
  run: readRun,
  stats: threadStats,
  shown: tellShown,
  totals: totalStats,
  export: exportThread,
  import: importThread,
  putArtifact: (log, caller, id, input) => putArtifact(log, caller, id, input),
  artifacts: listArtifacts,
  artifact: getArtifact,
  content: readContent,
  part: readPart,
  deleteArtifact: deleteArtifact,
  search: async (log, caller, id, q, o = {}) => {
    const { root } = await log.meta(caller, id);
    // Before the search: what is indexed meanwhile was not seen for certain.
    const unsearched = await findUnsearched(log, caller, id);
    const hits = await searchArtifacts(log, caller, id, q, o);
    const answer = { hits, ...(unsearched ? { unsearched } : {}) };
    if (o.counted ?? true) log.ledger.answerRead(root, 'searches', answer);
    return answer;
  },
  report: makeReport,
  render: renderThread,
};
