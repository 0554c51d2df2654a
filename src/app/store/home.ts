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

/** Of the secret. */
const SECRET_BYTES = 32;

/** A secret of the home, made once, for programs that have no store open: their relay may be elsewhere. */
export function homeSecret(home: string): FrameSecret {
  return async () => {
    const path = join(home, 'frame-secret');
    if (!existsSync(path)) makeSecret(home, path);
    const secret = Uint8Array.from(Buffer.from(readFileSync(path, 'utf8'), 'hex'));
    if (secret.length === SECRET_BYTES) return secret;
    throw new RelayError('failed', { what: `${path} is damaged.`, hint: 'Delete it: a new one is made.' });
  };
}

/** Whole or not at all: of two processes that make it at once, both use the one that was first. */
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
