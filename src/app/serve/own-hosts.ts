import { hostname, networkInterfaces } from 'node:os';
import { isLoopback } from '../../base/address.ts';

/** The names by which a server that listens there may be called, beside those of loopback. */
export function ownHosts(host: string): string[] {
  if (isLoopback(host)) return [];
  if (host !== '0.0.0.0' && host !== '::') return [inUrl(host)];
  const addresses = Object.values(networkInterfaces()).flatMap((cards) => cards ?? []);
  return [hostname().toLowerCase(), ...addresses.map(({ address }) => inUrl(address))];
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host.replace(/%.*$/, '')}]` : host.toLowerCase();
}
