import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenClient } from '../../interfaces/cli/host.ts';
import type { Config } from '../config.ts';
import { openRelay } from './open-relay.ts';

/** A relay on a store of its own in a temporary folder, which goes with it. */
export async function openScratch(config: Config): Promise<OpenClient> {
  const home = mkdtempSync(join(tmpdir(), 'relay-scratch-'));
  const remove = () => rm(home, { recursive: true, force: true });
  try {
    // What is gone in a moment need not survive a power cut.
    const open = await openRelay({ ...config, home, remote: null, durability: 'process' });
    return {
      ...open,
      [Symbol.asyncDispose]: async () => {
        await open[Symbol.asyncDispose]();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
