import { chmodSync, existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { makeFolders } from '../../engines/sqlite/fsync.ts';
import type { FrameSecret } from '../../text/frame.ts';
import { unique } from './atomic-file.ts';

const WHY: { readonly [code: string]: string } = {
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'the disk is read-only',
  // `ENOENT` cannot mean a missing parent folder, because parents are created. So the path is in a special file
  // system such as /proc.
  ENOENT: 'files cannot be created there',
};

/** Mode of the home: it contains payloads and keys of one person, so no other user may read it. */
const HOME_MODE = 0o700;

/**
 * Returns the absolute path of the home, which need not exist: `--home`, else RELAY_HOME, else `~/.relay`.
 */
export function findHome(
  flag: string | undefined,
  env: { readonly [name: string]: string | undefined },
): string {
  if (flag === '')
    throw new RelayError('bad_usage', { what: '--home needs a folder name.', hint: 'Use --home DIR.' });
  const named = flag ?? (env.RELAY_HOME || undefined);
  return named === undefined ? join(homedir(), '.relay') : resolve(named);
}

/**
 * Creates the home if it is missing, readable only by its owner. An existing folder keeps its mode, which
 * `doctor` checks.
 */
export function makeHome(home: string): void {
  try {
    if (makeFolders(home) !== undefined) chmodSync(home, HOME_MODE);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOTDIR') throw notAFolder(home);
    const why = code && WHY[code];
    if (why) {
      throw new RelayError('failed', {
        what: `The folder ${home} cannot be created: ${why}.`,
        hint: 'Set RELAY_HOME or --home to a folder that you may write to.',
      });
    }
    throw error;
  }
}

function notAFolder(home: string): RelayError {
  return new RelayError('failed', {
    what: `${home} is not a folder.`,
    hint: 'Set RELAY_HOME or --home to a folder.',
  });
}

const SECRET_BYTES = 32;

/**
 * Returns a function that reads the secret of this home from which the marks of frames are made. Creates the secret
 * on first use. It needs no store, because a program may use a relay on another machine.
 */
export function homeSecret(home: string): FrameSecret {
  return async () => {
    const path = join(home, 'frame-secret');
    if (!existsSync(path)) makeSecret(home, path);
    const secret = Uint8Array.from(Buffer.from(readFileSync(path, 'utf8'), 'hex'));
    if (secret.length === SECRET_BYTES) return secret;
    throw new RelayError('failed', {
      what: `${path} is damaged.`,
      hint: 'Delete the file. The next command creates a new one.',
    });
  };
}

/**
 * Creates the file with the secret atomically. Two processes that do so at the same time both use the first
 * file.
 */
function makeSecret(home: string, path: string): void {
  makeHome(home);
  const draft = `${path}.${unique()}.tmp`;
  try {
    writeFileSync(draft, toHex(systemEnv.randomBytes(SECRET_BYTES)), { flag: 'wx', mode: 0o600 });
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
