import { chmod, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { isJsonObject, type Json } from '../../base/json.ts';
import type { Keyring } from '../../interfaces/cli/host.ts';
import { writeAtomically } from './atomic-file.ts';
import { makeHome } from './home.ts';

/** File mode of the keyring: its keys decrypt payloads, so only its owner may read it. */
const MODE = 0o600;
const ATTEMPTS = 20;
/**
 * Time in ms for which the key of an expired pointer is kept: the pointer may have been renewed meanwhile.
 */
const KEPT_AFTER_EXPIRY_MS = 90 * 24 * 60 * 60 * 1000;

interface Entry {
  readonly key: string;
  readonly created_at: string;
  /** Expiry of the pointer at the time when the key was stored. The pointer may have been renewed since. */
  readonly expires_at?: string;
}

type Entries = { readonly [name: string]: Entry };

/** Sections of the file. Earlier versions wrote no section `pointers`. */
interface Sections {
  readonly channels: Entries;
  readonly pointers?: Entries;
}

/** Opens the encryption keys in `<home>/keyring.json`. They are never sent to a relay. */
export function openKeyring(home: string): Keyring {
  const path = join(home, 'keyring.json');
  return {
    path,
    async list() {
      const { sections } = await read(path);
      return Object.entries(sections.channels).map(([channel, { created_at }]) => ({ channel, created_at }));
    },
    async get(channel) {
      const { channels } = (await read(path)).sections;
      return Object.hasOwn(channels, channel) ? channels[channel]!.key : undefined;
    },
    async put(channel, key) {
      makeHome(home);
      await change(path, ({ channels, ...rest }) => ({
        ...rest,
        channels: { ...channels, [channel]: { key, created_at: new Date().toISOString() } },
      }));
    },
    async remove(channel) {
      let found = false;
      await change(path, ({ channels: { [channel]: gone, ...channels }, ...rest }) => {
        found = gone !== undefined;
        return found ? { ...rest, channels } : null;
      });
      return found;
    },
    async pointerKey(name) {
      const { pointers = {} } = (await read(path)).sections;
      if (Object.keys(pointers).length === 0) return undefined;
      const filed = await name();
      return Object.hasOwn(pointers, filed) ? pointers[filed]!.key : undefined;
    },
    async keepPointerKey(name, key, expires_at) {
      makeHome(home);
      const now = new Date().toISOString();
      const oldest = new Date(Date.now() - KEPT_AFTER_EXPIRY_MS).toISOString();
      await change(path, ({ pointers = {}, ...rest }) => {
        const live = Object.entries(pointers).filter(([, entry]) => (entry.expires_at ?? now) >= oldest);
        return {
          ...rest,
          pointers: { ...Object.fromEntries(live), [name]: { key, created_at: now, expires_at } },
        };
      });
    },
  };
}

/**
 * Reads, edits and replaces the file. If another process changed it meanwhile, edits the new content instead.
 */
async function change(path: string, edit: (sections: Sections) => Sections | null): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { text, sections } = await read(path);
    const edited = edit(sections);
    if (edited === null) return;
    const before = async () => {
      if ((await read(path)).text !== text) throw new ChangedMeanwhile();
    };
    try {
      const written = `${JSON.stringify(edited, null, 2)}\n`;
      await writeAtomically(path, written, { mode: MODE, before });
      return;
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile)) throw error;
    }
  }
  throw new RelayError('busy', { what: `other processes keep changing ${path}` });
}

class ChangedMeanwhile extends Error {}

async function read(path: string): Promise<{ text: string | null; sections: Sections }> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { text: null, sections: { channels: {} } };
    throw error;
  }
  await keepPrivate(path);
  return { text, sections: parse(path, text) };
}

/** Removes the permissions of other users from the file. */
async function keepPrivate(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) await chmod(path, MODE);
}

function parse(path: string, text: string): Sections {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isJsonObject(parsed) && hasKeys(parsed.channels) && hasKeys(parsed.pointers ?? {}))
      return parsed as unknown as Sections;
  } catch {
    // The error below keeps the file from being overwritten: a person may still recover its keys.
  }
  throw new RelayError('failed', {
    what: `${path} is not a valid keyring. It was not changed.`,
    hint: 'Correct the file by hand, or move it elsewhere to start a new keyring.',
  });
}

function hasKeys(section: Json | undefined): boolean {
  return (
    isJsonObject(section) &&
    Object.values(section).every((entry) => isJsonObject(entry) && typeof entry.key === 'string')
  );
}
