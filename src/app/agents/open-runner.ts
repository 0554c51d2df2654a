import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import type { Runner } from '../../client/bridge/runner.ts';
import type { RunnerSpec } from '../../interfaces/cli/host.ts';
import { nodeRunners } from './node-runners.ts';

/** The agent that the command line names. Terminals are told apart with the profiles of this home too. */
export async function openRunner(spec: RunnerSpec, home: string): Promise<Runner> {
  switch (spec.kind) {
    case 'exec':
      return nodeRunners.exec(spec);
    case 'acp':
      return nodeRunners.acp(spec);
    case 'tmux':
      return nodeRunners.tmux({ ...spec, profiles: await ownProfiles(join(home, 'agents.json')) });
    case 'a2a':
      return (await import('../../runners/a2a/bridge-runner.ts')).a2aBridgeRunner(spec.url);
  }
}

async function ownProfiles(path: string): Promise<JsonObject> {
  let profiles: unknown;
  try {
    profiles = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new RelayError('bad_config', { where: path, what: (error as Error).message }, error);
  }
  if (isJsonObject(profiles)) return profiles;
  throw new RelayError('bad_config', { where: path, what: 'it holds no profiles by name' });
}
