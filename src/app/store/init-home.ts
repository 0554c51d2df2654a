import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OPTIONS } from '../config.ts';
import { writeAtomically } from './atomic-file.ts';
import { makeHome } from './home.ts';

/** Makes the home and a configuration file to begin with. One that is there is not touched. */
export async function initHome(home: string): Promise<{ config: string; written: boolean }> {
  makeHome(home);
  const config = join(home, 'config.json');
  if (existsSync(config)) return { config, written: false };
  // Only what people change most; all else keeps its default, also when a later version chooses a better one.
  const first = { host: OPTIONS.host.default, port: OPTIONS.port.default };
  await writeAtomically(config, `${JSON.stringify(first, null, 2)}\n`, { mode: 0o600 });
  return { config, written: true };
}
