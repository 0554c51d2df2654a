import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import type { FrameSecret } from '../../text/frame.ts';
import { unique } from './atomic-file.ts';
import { makeHome } from './home.ts';

const BYTES = 32;

/** A secret of the home, made once, for programs that have no store open: their relay may be elsewhere. */
export function homeSecret(home: string): FrameSecret {
  return async () => {
    const path = join(home, 'frame-secret');
    if (!existsSync(path)) make(home, path);
    const secret = Uint8Array.from(Buffer.from(readFileSync(path, 'utf8'), 'hex'));
    if (secret.length === BYTES) return secret;
    throw new RelayError('failed', { what: `${path} is damaged.`, hint: 'Delete it: a new one is made.' });
  };
}

/** Whole or not at all: of two processes that make it at once, both use the one that was first. */
function make(home: string, path: string): void {
  makeHome(home);
  const draft = `${path}.${unique()}.tmp`;
  try {
    writeFileSync(draft, toHex(systemEnv.randomBytes(BYTES)), { flag: 'wx', mode: 0o600 });
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
