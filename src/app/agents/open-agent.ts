import type { RemoteAgent } from '../../client/bridge/remote-agent.ts';
import type { Host } from '../../interfaces/cli/host.ts';
import { connectAgent } from '../../runners/a2a/runner.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { Config, Environment } from '../config.ts';

/** An agent elsewhere. A relay that we have a key for gets that key, every other only the token it was given. */
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
  // The relay is opened only where a text is too long for a message.
  const push: ContextRelay['push'] = async (...args) => {
    await using open = await host.openClient();
    return await (await open.client()).push(...args);
  };
  return connectAgent(address, { token, relay: { push } });
}
