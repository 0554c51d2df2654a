import { isLoopback } from '../../base/address.ts';
import type { ServeOptions } from '../../interfaces/cli/host.ts';
import type { Config } from '../config.ts';

type Network = Pick<ServeOptions, 'host' | 'publicUrl' | 'trustProxy'>;

/**
 * The address at which others reach a server that is started like this; null where only this machine does. A proxy on this
 * machine connects from loopback, so a public URL or a trusted proxy counts as much as an address of the network.
 */
export function exposedAs(config: Pick<Config, 'public_url' | 'trusted_proxies'>, o: Network): string | null {
  const publicUrl = o.publicUrl ?? config.public_url;
  if (publicUrl !== null && !isLoopback(new URL(publicUrl).hostname)) return publicUrl;
  if (!isLoopback(o.host)) return o.host;
  const proxies = o.trustProxy ?? config.trusted_proxies;
  return proxies.length > 0 ? `the proxy at ${proxies.join(', ')}` : null;
}

/** Whether the server asks for keys: as configured, else whenever others can reach it. */
export function authOf(
  config: Pick<Config, 'auth' | 'public_url' | 'trusted_proxies'>,
  o: Network & Pick<ServeOptions, 'auth' | 'open'>,
): 'open' | 'keys' {
  if (o.auth) return 'keys';
  if (o.open) return 'open';
  return config.auth ?? (exposedAs(config, o) === null ? 'open' : 'keys');
}
