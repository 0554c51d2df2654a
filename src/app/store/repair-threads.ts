import { INDEX_TEXT_CHARS, PAGE_ITEMS } from '../../base/limits.ts';
import { type Caller, LOCAL_CALLER } from '../../contract/caller.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { indexArtifact, listArtifacts, openArtifact } from '../../domain/threads/artifacts.ts';
import type { ThreadServices } from '../../domain/threads/thread-services.ts';
import { listThreads } from '../../domain/threads/threads.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { Config } from '../config.ts';
import { Mirror } from './mirror.ts';
import { openCore } from './open-core.ts';

export interface Repaired {
  readonly threads: number;
  readonly artifacts: number;
  /** Contents that are gone from the store, by thread and ref. */
  readonly missing: readonly string[];
}

/** Repairs the threads of a home. */
export async function repairStore(config: Config): Promise<Repaired> {
  await using opened = await openCore(config, 'cli');
  return await repairThreads(config.home, opened.core);
}

/** Makes everything that is derived from the logs of threads anew: their files and what a search looks through. */
export async function repairThreads(
  home: string,
  core: RelayCore,
  tenants: Iterable<string> = [LOCAL_CALLER.tenant],
): Promise<Repaired> {
  const threads = await core.threads();
  const mirror = new Mirror(home, threads);
  const done = { threads: 0, artifacts: 0, missing: [] as string[] };
  for (const tenant of tenants) {
    const caller: Caller = { ...LOCAL_CALLER, tenant };
    for await (const id of everyThread(threads, caller)) {
      await mirror.rewrite(id);
      done.threads++;
      for await (const artifact of everyArtifact(threads, caller, id)) {
        const text = await textOf(threads, artifact);
        if (text === null) done.missing.push(`${id}/${artifact.ref}`);
        else if (artifact.provenance.capability !== 'retrieval.search') {
          await indexArtifact(threads.log, tenant, artifact, text);
        }
        done.artifacts++;
      }
    }
  }
  return done;
}

async function* everyThread(threads: ThreadServices, caller: Caller): AsyncGenerator<string> {
  let after: string | undefined;
  do {
    const page = await listThreads(threads.log, caller, { after, limit: PAGE_ITEMS });
    for (const { thread_id } of page.threads) yield thread_id;
    after = page.next;
  } while (after !== undefined);
}

async function* everyArtifact(threads: ThreadServices, caller: Caller, id: string): AsyncGenerator<Artifact> {
  let after: string | undefined;
  do {
    const page = await listArtifacts(threads.log, caller, id, { after, limit: PAGE_ITEMS });
    yield* page.artifacts;
    after = page.next;
  } while (after !== undefined);
}

/** As much of it as a search looks through; nothing where it is not text, null where it is gone. */
async function textOf(threads: ThreadServices, artifact: Artifact): Promise<string | null> {
  let body: BlobBody;
  try {
    body = await openArtifact(threads.log, artifact);
  } catch {
    return null;
  }
  if (artifact.type === 'binary') {
    if (!(body instanceof Uint8Array)) await body.cancel();
    return '';
  }
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let text = '';
  try {
    if (body instanceof Uint8Array) return decoder.decode(body);
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length >= INDEX_TEXT_CHARS) break;
    }
    return text;
  } catch {
    return '';
  }
}
