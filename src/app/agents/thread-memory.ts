import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUuid } from '../../base/ids.ts';
import { isJsonObject } from '../../base/json.ts';
import type { ThreadMemory } from '../../interfaces/cli/host.ts';
import { writeAtomically } from '../store/atomic-file.ts';
import { makeHome } from '../store/home.ts';

/**
 * Stores the default thread of each relay in `<home>/current-thread.json`. A thread id is valid only on its
 * own relay.
 */
export function openThreadMemory(home: string, remote: string | null): ThreadMemory {
  const path = join(home, 'current-thread.json');
  const relay = remote ?? 'local';
  const write = (known: ThreadByRelay) =>
    writeAtomically(path, `${JSON.stringify(known, null, 2)}\n`, { mode: 0o600 });
  return {
    get: () => read(path)[relay],
    async set(id) {
      const known = read(path);
      if (known[relay] === id) return;
      makeHome(home);
      await write({ ...known, [relay]: id });
    },
    async forget(id) {
      const { [relay]: last, ...others } = read(path);
      if (last === id) await write(others);
    },
  };
}

type ThreadByRelay = { readonly [relay: string]: string };

/** Reads the file. An unreadable file counts as empty: users can always name a thread. */
function read(path: string): ThreadByRelay {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isJsonObject(parsed)) return {};
    const entries = Object.entries(parsed).filter(([, id]) => typeof id === 'string' && isUuid(id));
    return Object.fromEntries(entries) as ThreadByRelay;
  } catch {
    return {};
  }
}
