import { chmod, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Keyring } from '../../interfaces/cli/host.ts';
import { writeAtomically } from './atomic-file.ts';
import { makeHome } from './home.ts';

/**
 * Mode of the keyring. With its keys, every payload that was encrypted for its channels can be decrypted. So
 * only its owner may read it.
 */
const MODE = 0o600;
const ATTEMPTS = 20;

interface Entry {
  readonly key: string;
  readonly created_at: string;
}

type Entries = { readonly [channel: string]: Entry };

/** Opens the encryption keys of channels in `<home>/keyring.json`. They are never sent to a relay. */
export function openKeyring(home: string): Keyring {
  const path = join(home, 'keyring.json');
  return {
    path,
    async list() {
      const { entries } = await read(path);
      return Object.entries(entries).map(([channel, { created_at }]) => ({ channel, created_at }));
    },
    async get(channel) {
      const { entries } = await read(path);
      return Object.hasOwn(entries, channel) ? entries[channel]!.key : undefined;
    },
    async put(channel, key) {
      makeHome(home);
      await change(path, (entries) => ({
        ...entries,
        [channel]: { key, created_at: new Date().toISOString() },
      }));
    },
    async remove(channel) {
      let found = false;
      await change(path, ({ [channel]: gone, ...rest }) => {
        found = gone !== undefined;
        return found ? rest : null;
      });
      return found;
    },
  };
}

/** Reads, edits and replaces the file. If another process changed the file meanwhile, it starts again. */
async function change(path: string, edit: (entries: Entries) => Entries | null): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { text, entries } = await read(path);
    const edited = edit(entries);
    if (edited === null) return;
    const before = async () => {
      if ((await read(path)).text !== text) throw new ChangedMeanwhile();
    };
    try {
      const written = `${JSON.stringify({ channels: edited }, null, 2)}\n`;
      await writeAtomically(path, written, { mode: MODE, before });
      return;
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile)) throw error;
    }
  }
  throw new RelayError('busy', { what: `other processes keep changing ${path}` });
}

class ChangedMeanwhile extends Error {}

async function read(path: string): Promise<{ text: string | null; entries: Entries }> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { text: null, entries: {} };
    throw error;
  }
  await keepPrivate(path);
  return { text, entries: parse(path, text) };
}

/** Removes the permissions of other users from the file. */
async function keepPrivate(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) await chmod(path, MODE);
}

function parse(path: string, text: string): Entries {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isJsonObject(parsed) && isJsonObject(parsed.channels)) {
      const entries = Object.entries(parsed.channels);
      if (entries.every(([, entry]) => isJsonObject(entry) && typeof entry.key === 'string')) {
        return parsed.channels as unknown as Entries;
      }
    }
  } catch {
    // The error is thrown below. The file is not overwritten, because a person may still recover its keys.
  }
  throw new RelayError('failed', {
    what: `${path} is not a valid keyring. It was not changed.`,
    hint: 'Correct the file by hand, or move it elsewhere to start a new keyring.',
  });
}
