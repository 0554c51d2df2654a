import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import type { RemoteAgent } from '../../client/bridge/remote-agent.ts';
import type { Runner } from '../../client/bridge/runner.ts';
import type { Host, RunnerSpec } from '../../interfaces/cli/host.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { Config, Environment } from '../config.ts';
import { nodeRunners } from './node-runners.ts';

/**
 * Opens the runner that the command line names. The tmux runner also reads profiles of programs from
 * `<home>/agents.json`.
 */
export async function openRunner(spec: RunnerSpec, home: string): Promise<Runner> {
  if (spec.kind === 'exec') return nodeRunners.exec(spec);
  if (spec.kind === 'acp') return nodeRunners.acp(spec);
  if (spec.kind === 'a2a') return (await import('../../runners/a2a.ts')).a2aBridgeRunner(spec.url);
  return nodeRunners.tmux({ ...spec, profiles: await ownProfiles(join(home, 'agents.json')) });
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
  throw new RelayError('bad_config', { where: path, what: 'it must be a JSON object of profiles by name' });
}

/**
 * Opens a remote A2A agent with the given token or the token in A2A_TOKEN. Without a token, an agent on the
 * configured relay gets the API key of that relay.
 */
export async function openAgent(
  address: string,
  o: { readonly token?: string },
  config: Config,
  env: Environment,
  host: Host,
): Promise<RemoteAgent> {
  const own =
    config.remote !== null && URL.parse(address)?.origin === new URL(config.remote).origin
      ? config.apiKey
      : null;
  const token = o.token ?? (env.A2A_TOKEN || own || undefined);
  // Only a text that is too long for a message is pushed, so most calls open no relay.
  const push: ContextRelay['push'] = async (...args) => {
    await using open = await host.relay.open();
    return await (await open.client()).push(...args);
  };
  const { connectAgent } = await import('../../runners/a2a.ts');
  return connectAgent(address, { token, relay: { push } });
}
