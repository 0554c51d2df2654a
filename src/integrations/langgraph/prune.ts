import type { CheckpointFiles, Stored } from './checkpoint-files.ts';

/**
 * Keeps, for each namespace of a thread, the newest checkpoint and what it is made of. A channel that is stored as changes is
 * put together from its ancestors: those up to the one that holds a whole value of it stay, with their writes.
 */
export async function keepLatest(files: CheckpointFiles, thread: string): Promise<void> {
  const namespaces = new Map<string, Stored[]>();
  for await (const stored of files.list(thread)) {
    const known = namespaces.get(stored.namespace);
    if (known) known.push(stored);
    else namespaces.set(stored.namespace, [stored]);
  }
  for (const [namespace, stored] of namespaces) {
    const values = await files.valuePaths(thread, namespace);
    const kept = await neededFor(stored, files, values);
    for (const each of stored) if (!kept.has(each)) await files.delete(each);
    const used = new Set<string>();
    for (const each of kept) {
      for (const channel of Object.keys(each.checkpoint.channel_versions))
        used.add(await files.valuePath(each, channel));
    }
    // What is younger than the newest checkpoint may be of one that is being written.
    const newest = stored[0]!.at;
    const unused = [...values].filter(([path, at]) => !used.has(path) && at < newest);
    await files.deleteValues(unused.map(([path]) => path));
  }
}

/** `stored` has the newest first. Where an ancestor is missing there is nothing older to keep. */
async function neededFor(
  stored: readonly Stored[],
  files: CheckpointFiles,
  values: ReadonlyMap<string, string>,
): Promise<Set<Stored>> {
  const byId = new Map(stored.map((each) => [each.id, each]));
  const unseen = new Set(stored.flatMap(({ deltas }) => deltas));
  const needed = new Set<Stored>();
  for (let at = stored[0]; at; at = at.parent === undefined ? undefined : byId.get(at.parent)) {
    needed.add(at);
    for (const channel of unseen) if (values.has(await files.valuePath(at, channel))) unseen.delete(channel);
    if (unseen.size === 0) break;
  }
  return needed;
}
