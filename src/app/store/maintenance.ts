import { ignore } from '../../base/errors.ts';
import { everyItem } from '../../base/pages.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { listArtifacts } from '../../domain/threads/artifacts.ts';
import { idOf, parseRoot } from '../../domain/threads/keys.ts';
import { listThreads } from '../../domain/threads/threads.ts';
import type { BodyCheck, LocalStore, Repaired } from '../../interfaces/cli/host.ts';
import type { Config } from '../config.ts';
import { Mirror } from './mirror.ts';
import { openCore, type Warn } from './open-core.ts';
import type { ReadableFiles, StoreChecks } from './open-engine.ts';

/** Opens the operations that check and clean a store. */
export async function openStore(config: Config, warn?: Warn): Promise<LocalStore> {
  const { core, engine, checks, ...open } = await openCore(config, 'cli', { warn });
  return {
    async sweep() {
      await core.files.store.removeOrphans(LOCAL_CALLER.tenant);
      return core.sweepStore([LOCAL_CALLER.tenant]);
    },
    usage: async () => {
      // Omit `figures`, which are only for `GET /metrics`.
      const { figures: _, ...usage } = await engine.usage();
      return usage;
    },
    state: () => engine.state(),
    missingBodies: () => checks.missingBodies(),
    checkBodies: () => checkBodies(core, checks),
    checkDatabase: () => checks.checkDatabase(),
    [Symbol.asyncDispose]: open[Symbol.asyncDispose],
  };
}

/** Repairs the threads of a home: rebuilds their search index and their readable files. */
export async function repairStore(config: Config, warn?: Warn): Promise<Repaired> {
  await using opened = await openCore(config, 'cli', { warn });
  return await repairThreads(opened.readableFiles, opened.core, warn);
}

/**
 * Rebuilds the data that is derived from the logs of threads: the search index and the readable files. `legible` is
 * null if the store is a cluster, which has no readable files.
 */
export async function repairThreads(
  legible: ReadableFiles | null,
  core: RelayCore,
  warn: Warn = () => {},
): Promise<Repaired> {
  const services = await core.threads();
  const { log } = services;
  const mirror = legible && new Mirror(legible, services, warn);
  const done = { threads: 0, artifacts: 0, missing: [] as string[] };
  for await (const { thread_id } of everyItem('threads', (o) => listThreads(log, LOCAL_CALLER, o))) {
    const { root } = await log.meta(LOCAL_CALLER, thread_id);
    // A damaged thread keeps its old files. Continue with the next thread.
    const written = mirror ? await mirror.rewrite(root).then(() => true, ignore('store_damaged')) : true;
    if (!written) {
      done.missing.push(thread_id);
      continue;
    }
    done.threads++;
    const artifacts = everyItem('artifacts', (o) => listArtifacts(log, LOCAL_CALLER, thread_id, o));
    for await (const artifact of artifacts) {
      done.artifacts++;
      const isThere = await log.index.rebuild(LOCAL_CALLER.tenant, root, artifact);
      if (!isThere) done.missing.push(`${thread_id}/${artifact.ref}`);
    }
  }
  return done;
}

/** Reads every body in the store. A damaged body is yielded with the pointer, file or thread that uses it. */
async function* checkBodies(core: RelayCore, checks: StoreChecks): AsyncGenerator<BodyCheck> {
  for await (const { key, file, size, fault } of checks.checkBodies()) {
    if (fault === null) yield { size };
    else yield { size, damaged: { key, file, fault, refers: await referrerOf(core, key) } };
  }
}

/** Describes the pointer, file or thread that uses a body. Returns null if nothing uses it. */
async function referrerOf(core: RelayCore, key: string): Promise<string | null> {
  const [, kind, id, rest] = /^(ptr|thr)\.([^/]+)\/(.*)$/s.exec(key) ?? [];
  if (kind === 'ptr') {
    const record = (await core.deps.engine.records.get(`ptr.${id}/meta`))?.value as
      | { blob: string; channel: string | null }
      | undefined;
    if (record?.blob !== key) return null;
    return record.channel === null ? `pointer ${id}` : `pointer ${id}, in channel ${record.channel}`;
  }
  if (key.startsWith('fil.')) return core.files.store.nameOfBody(key);
  if (kind !== 'thr') return `the blob ${key}`;
  const root = parseRoot(id!);
  const { log } = await core.threads();
  if (root === undefined || (await log.ownerOf(root)) === undefined) return null;
  const thread = `thread ${idOf(root)}`;
  const [folder, name = ''] = rest!.split('/');
  if (folder === 'artifacts') return `artifact ${name.split('.')[0]} of ${thread}`;
  if (folder === 'snapshots') return `a snapshot of ${thread}, which will be rebuilt from its log`;
  if (folder === 'ops') return `a large patch of ${thread}`;
  return thread;
}
