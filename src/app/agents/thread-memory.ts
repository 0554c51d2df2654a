import { join } from 'node:path';
import { isUuid } from '../../base/ids.ts';
import type { ThreadMemory } from '../../interfaces/cli/host.ts';
import { readJsonFile, writeJsonFile } from '../store/atomic-file.ts';
import { makeHome } from '../store/home.ts';

/**
 * Stores the default thread of each relay in `<home>/current-thread.json`. A thread id is valid only on its
 * own relay.
 */
export function openThreadMemory(home: string, remote: string | null): ThreadMemory {
  const path = join(home, 'current-thread.json');
  const relay = remote ?? 'local';
  return {
    get: () => read(path)[relay],
    async set(id) {
      const threadsByRelay = read(path);
      if (threadsByRelay[relay] === id) return;
      makeHome(home);
      await writeJsonFile(path, { ...threadsByRelay, [relay]: id });
    },
    async forget(id) {
      const { [relay]: last, ...others } = read(path);
      if (last === id) await writeJsonFile(path, others);
    },
  };
}

type ThreadByRelay = { readonly [relay: string]: string };

/** Reads the file. An unreadable file counts as empty: users can always name a thread. */
function read(path: string): ThreadByRelay {
  const entries = Object.entries(readJsonFile(path) ?? {});
  return Object.fromEntries(
    entries.filter(([, id]) => typeof id === 'string' && isUuid(id)),
  ) as ThreadByRelay;
}
