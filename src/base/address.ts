/**
 * Whether a host name or an address, in brackets or not, is this machine's own: only programs on it reach what listens
 * there, and no name server can lead it elsewhere.
 */
export function isLoopback(host: string): boolean {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  return bare === 'localhost' || bare === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(bare);
}
