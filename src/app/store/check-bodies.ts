import type { RelayCore } from '../../domain/relay-core.ts';
import { idOf, parseRoot } from '../../domain/threads/keys.ts';
import type { BodyCheck } from '../../interfaces/cli/host.ts';
import type { StoreChecks } from './open-engine.ts';

/** Reads every body of the store, and says of what is damaged what refers to it. */
export async function* checkBodies(core: RelayCore, checks: StoreChecks): AsyncGenerator<BodyCheck> {
  for await (const { key, file, size, fault } of checks.checkBodies()) {
    if (fault === null) yield { size };
    else yield { size, damaged: { key, file, fault, refers: await referrerOf(core, key) } };
  }
}

/** By the names that the domain gives to its bodies; null where nothing refers to it any more. */
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
  if (kind !== 'thr') return `what is kept as ${key}`;
  const root = parseRoot(id!);
  const { log } = await core.threads();
  if (root === undefined || (await log.ownerOf(root)) === undefined) return null;
  const thread = `thread ${idOf(root)}`;
  const [folder, name = ''] = rest!.split('/');
  if (folder === 'artifacts') return `artifact ${name.split('.')[0]} of ${thread}`;
  if (folder === 'snapshots') return `a snapshot of ${thread}, which is made again from its log`;
  if (folder === 'ops') return `a large patch of ${thread}`;
  return thread;
}
