import { hostname, networkInterfaces } from 'node:os';

/** Whether only programs on this machine can reach what listens there. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The names by which a server that listens there may be called, beside those of loopback. */
export function ownHosts(host: string): string[] {
  if (isLoopbackHost(host)) return [];
  if (host !== '0.0.0.0' && host !== '::') return [inUrl(host)];
  const addresses = Object.values(networkInterfaces()).flatMap((cards) => cards ?? []);
  return [hostname().toLowerCase(), ...addresses.map(({ address }) => inUrl(address))];
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host.replace(/%.*$/, '')}]` : host.toLowerCase();
}
