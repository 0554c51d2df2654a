import { chmodSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { makeFolders } from '../../engines/sqlite/syncing.ts';

const WHY: { readonly [code: string]: string } = {
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'the disk is read-only',
  // The folder above it is there, or it would have been made: it is one of /proc, or the like.
  ENOENT: 'that is no place for files',
};

/** Payloads and keys of a person: nobody else on the machine reads them. */
const HOME_MODE = 0o700;

/** `--home`, else RELAY_HOME, else `~/.relay`; always absolute. The folder need not exist. */
export function findHome(
  flag: string | undefined,
  env: { readonly [name: string]: string | undefined },
): string {
  if (flag === '')
    throw new RelayError('bad_usage', { what: '--home needs a folder.', hint: 'Use --home DIR.' });
  const named = flag ?? (env.RELAY_HOME || undefined);
  return named === undefined ? join(homedir(), '.relay') : resolve(named);
}

/** Makes the folder where it is missing, for its owner alone. One that exists keeps its mode: `doctor` looks at that. */
export function makeHome(home: string): void {
  try {
    if (makeFolders(home) !== undefined) chmodSync(home, HOME_MODE);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOTDIR') throw notAFolder(home);
    const why = code && WHY[code];
    if (why) {
      throw new RelayError('failed', {
        what: `The folder ${home} cannot be made: ${why}.`,
        hint: 'Point RELAY_HOME or --home at a folder you may write to.',
      });
    }
    throw error;
  }
}

function notAFolder(home: string): RelayError {
  return new RelayError('failed', {
    what: `${home} is not a folder.`,
    hint: 'Point RELAY_HOME or --home at a folder.',
  });
}
