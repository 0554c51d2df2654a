import { sha256Hex } from '../../base/hash.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { extensionOf } from './artifact-kind.ts';
import { artifactMeta, artifactRecords } from './artifacts.ts';
import { repeatable } from './fold.ts';
import { artifactBlob, artifactKey, type ThreadRoot } from './keys.ts';
import { isoTime } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

/**
 * Deletes the content of an artifact and what was made of it: the preview and the entry in the search index. Its hash, name
 * and provenance stay, so that the log and every version of the state still make sense. The record goes first, and from
 * there on nobody reads it; a deletion that a crash interrupted is finished by asking for it again.
 */
export const deleteArtifact: ThreadVerb<'deleteArtifact'> = async (log, caller, id, ref) => {
  const { engine, env } = log.deps;
  const { root } = await log.meta(caller, id);
  const artifact = await artifactMeta(log, root, ref);
  const at = artifact.deleted_at === undefined ? env.now() : Date.parse(artifact.deleted_at);
  const gone = { ...withoutContent(artifact), deleted_at: isoTime(at) };
  await artifactRecords(log).put(artifactKey(root, ref), gone, { frees: true });
  await log.index.remove(caller.tenant, artifact);
  await engine.blobs.delete(artifactBlob(root, ref, extensionOf(artifact)));
  const { name, size, hash } = gone;
  const once = await repeatable('artifact.deleted', ref, () => sha256Hex(ref));
  const payload = { by: caller.name, ref, name, size, hash };
  return log.commit<Artifact>(caller, id, async (head) => {
    if (once!.seen(head) || (artifact.deleted_at !== undefined && (await isNoted(log, root, ref)))) {
      return { done: gone };
    }
    const event = { type: 'artifact.deleted', at, payload, ...once!.mark };
    return { event, answer: () => gone };
  });
};

/** Whether the log has the deletion, however many keys were used since: its bytes are given back once. */
async function isNoted(log: ThreadLog, root: ThreadRoot, ref: string): Promise<boolean> {
  for await (const { event } of log.heads.events(root, 0)) {
    if (event.type === 'artifact.deleted' && event.payload.ref === ref) return true;
  }
  return false;
}

/** What is left of an artifact whose content is gone. */
export function withoutContent(artifact: Artifact): Artifact {
  return { ...artifact, preview: { ...artifact.preview, text: '', line_count: 0, truncated: false } };
}
