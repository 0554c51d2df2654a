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
import { listRuns, readRun, updateRunList } from './pipeline-runs.ts';
import { renderThread } from './render.ts';
import { makeReport, recordShown, threadStats, totalStats } from './reports.ts';
import { readHeader, searchState } from './state-view.ts';
import { ThreadLog, type ThreadVerb } from './thread-log.ts';
import { deleteThread } from './thread-removal.ts';
import * as threads from './threads.ts';

/**
 * Number of events between two checks whether the state of a thread is too long and must be compacted. A compacted state
 * can still be too long, so a check after every event could start a compaction each time.
 */
const COMPACT_EVERY = 50;

/** Implements `relay.threads` for one store. */
export class ThreadServices {
  readonly log: ThreadLog;
  readonly verbs: Serves<typeof VERBS.threads>;

  constructor(deps: Deps, storage: Storage) {
    const log = new ThreadLog(deps, storage);
    log.followers.push({
      appended: (head, event) => {
        if (head.count % COMPACT_EVERY === 0) compactIfLong(log, head, event);
        if (event.type.startsWith('pipeline.')) {
          log.background.run(async () => updateRunList(log, head.root, event));
        }
      },
    });
    this.log = log;
    const bound = Object.entries(VERB_HANDLERS).map(([name, verb]) => [
      name,
      (...args: unknown[]) => (verb as (log: ThreadLog, ...args: unknown[]) => unknown)(log, ...args),
    ]);
    this.verbs = Object.fromEntries(bound);
  }
}

/** Implementation of each thread verb. */
const VERB_HANDLERS: { readonly [M in keyof ThreadsApi]: ThreadVerb<M> } = {
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
  hold: threads.holdThread,
  release: threads.releaseThread,
  runs: listRuns,
  run: readRun,
  stats: threadStats,
  shown: recordShown,
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
    const { root, state } = await log.head(caller, id);
    // Find out what is not indexed before the search itself. An artifact that is indexed between the two
    // steps is then in `unsearched`. In the other order, it could be missing in both the hits and
    // `unsearched`.
    const unsearched = await findUnsearched(log, caller, id);
    const hits = await searchArtifacts(log, caller, id, q, o);
    const items = searchState(state, q, o.limit);
    const answer = {
      hits,
      ...(items.length > 0 ? { state: items } : {}),
      ...(unsearched ? { unsearched } : {}),
    };
    if (o.counted ?? true) log.ledger.countRead(root, 'searches', answer);
    return answer;
  },
  searchAll: async (log, caller, q, o = {}) => {
    const unsearched = await findUnsearched(log, caller, null);
    return { hits: await searchArtifacts(log, caller, null, q, o), ...(unsearched ? { unsearched } : {}) };
  },
  report: makeReport,
  render: renderThread,
};
