import { BlockList, isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { RelayError } from '../../base/errors.ts';
import { isLoopback } from '../../contract/pointer-url.ts';
import type { ServeOptions } from '../../interfaces/cli/host.ts';
import type { Config } from '../config.ts';

/**
 * Returns a function that checks whether a list contains an address. Entries are addresses, networks or
 * `loopback`: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
 */
export function addressList(entries: readonly string[]): (address: string) => boolean {
  if (entries.length === 0) return () => false;
  const list = new BlockList();
  for (const entry of entries.flatMap((word) => (word === 'loopback' ? ['127.0.0.0/8', '::1'] : [word]))) {
    addTo(list, entry);
  }
  return (address) => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
    const family = isIP(plain);
    return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  };
}

function addTo(list: BlockList, entry: string): void {
  const [address = '', bits, ...more] = entry.split('/');
  const family = isIP(address);
  const width = bits === undefined ? null : Number(bits);
  const fits =
    width === null || (Number.isInteger(width) && width >= 0 && width <= (family === 6 ? 128 : 32));
  if (family === 0 || !fits || bits === '' || more.length > 0) {
    throw new RelayError('bad_config', {
      where: 'trusted_proxies',
      what: `${JSON.stringify(entry)} is neither an address nor a network such as 10.0.0.0/8.`,
    });
  }
  const type = family === 6 ? 'ipv6' : 'ipv4';
  if (width === null) list.addAddress(address, type);
  else list.addSubnet(address, width, type);
}

/**
 * Returns whether an IP address is on the public internet. Addresses of this machine, of its network and of cloud
 * metadata services are not, even if they are embedded in an IPv6 address.
 */
export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  if (isIP(bare) === 0 || isReserved(bare)) return false;
  return isIP(bare) === 4 || isGlobalV6(bare);
}

/** Public IPv6 addresses. `isReserved` excludes some blocks. */
const isGlobalV6 = addressList(['2000::/3']);

const isReserved = addressList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Reserved IPv6 blocks: Teredo, benchmarking, ORCHID, documentation and 6to4. A 6to4 address can contain
  // any IPv4 address.
  '2001::/32',
  '2001:2::/32',
  '2001:10::/28',
  '2001:20::/28',
  '2001:db8::/32',
  '3fff::/20',
  '2002::/16',
]);

/** Returns the host part of a URL with which this machine reaches a server that listens on `host`. */
export function localHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '[::1]' : hostInUrl(host);
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host.replace(/%.*$/, '')}]` : host.toLowerCase();
}

const listensOnAll = (host: string) => host === '0.0.0.0' || host === '::';

function networkCards() {
  return Object.values(networkInterfaces()).flatMap((cards) => cards ?? []);
}

/**
 * Returns the URLs with which other machines reach a server that listens on `host`. The URLs have the protocol and
 * the port of `url`. If the server listens on all addresses of this machine, there is one URL for each of them. If it
 * listens on loopback, there is none.
 */
export function reachableAt(host: string, url: string): string[] {
  if (isLoopback(host)) return [];
  if (!listensOnAll(host)) return [url];
  const { protocol, port } = new URL(url);
  return (
    networkCards()
      .filter(({ internal, family }) => !internal && (family === 'IPv4' || host === '::'))
      // Leave out link-local addresses, which do not work from other networks.
      .filter(({ address }) => !/^fe80:/i.test(address))
      .map(({ address }) => `${protocol}//${hostInUrl(address)}:${port}`)
  );
}

/** Returns the host names, other than loopback names, of a server that listens on `host`. */
export function ownHosts(host: string): string[] {
  if (isLoopback(host)) return [];
  if (!listensOnAll(host)) return [hostInUrl(host)];
  return [hostname().toLowerCase(), ...networkCards().map(({ address }) => hostInUrl(address))];
}

type Network = Pick<ServeOptions, 'host' | 'publicUrl' | 'trustProxy'>;

/**
 * Returns the address at which other machines reach a server with these options, or null if only this machine can
 * reach it. A public URL or a trusted proxy exposes even a server on loopback, because the proxy forwards requests of
 * other machines.
 */
export function exposedAs(config: Pick<Config, 'public_url' | 'trusted_proxies'>, o: Network): string | null {
  const publicUrl = o.publicUrl ?? config.public_url;
  if (publicUrl !== null && !isLoopback(new URL(publicUrl).hostname)) return publicUrl;
  if (!isLoopback(o.host)) return o.host;
  const proxies = o.trustProxy ?? config.trusted_proxies;
  return proxies.length > 0 ? `the proxy at ${proxies.join(', ')}` : null;
}

/** Returns whether the server requires API keys. By default it does if other machines can reach it. */
export function authOf(
  config: Pick<Config, 'auth' | 'public_url' | 'trusted_proxies'>,
  o: Network & Pick<ServeOptions, 'auth' | 'open'>,
): 'open' | 'keys' {
  if (o.auth) return 'keys';
  if (o.open) return 'open';
  return config.auth ?? (exposedAs(config, o) === null ? 'open' : 'keys');
}
