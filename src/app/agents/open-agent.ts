import type { Host } from '../../interfaces/cli/host.ts';
import type { RemoteAgent } from '../../interfaces/cli/host-agents.ts';
import { connectA2A } from '../../runners/a2a/connection.ts';
import { A2ARunner } from '../../runners/a2a/runner.ts';
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
  const own = config.remote !== null && URL.canParse(address) && sameOrigin(address, config.remote);
  const token = o.token ?? (env.A2A_TOKEN || undefined) ?? (own ? (config.apiKey ?? undefined) : undefined);
  const connection = await connectA2A(address, { token });
  const runner = new A2ARunner(connection, { push: (data, options) => pushed(host, data, options) });
  return {
    card: connection.json,
    run: (task) => runner.run(task),
    submit: (task) => runner.submit(task),
    find: (id) => runner.find(id),
    list: (options) => runner.list(options),
    cancel: (id) => runner.cancel(id),
    read: (part) => runner.read(part),
  };
}

/** The relay is opened only where a text is too long for a message. */
async function pushed(host: Host, ...args: Parameters<ContextRelay['push']>): Promise<string> {
  await using open = await host.openClient();
  return await open.client.push(...args);
}

function sameOrigin(one: string, other: string): boolean {
  return new URL(one).origin === new URL(other).origin;
}
