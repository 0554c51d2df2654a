/** What a request says about where it comes from, as far as it is to be believed. */
export interface ClientAddress {
  /** The client's own, behind however many proxies that are trusted; `unknown` where nobody can tell. */
  readonly address: string;
  /** How the client addressed the relay, as a trusted proxy tells it; null where none does. */
  readonly origin: string | null;
  /** It came through a proxy, trusted or not: the machine at the other end is not the client. */
  readonly proxied: boolean;
}

/** Headers by which proxies pass on what they know; anyone can send them, so only those of trusted ones count. */
export function clientAddress(
  header: (name: string) => string | null,
  peer: string | null,
  isTrusted: (address: string) => boolean,
): ClientAddress {
  const forwarded = header('x-forwarded-for');
  const proxied = forwarded !== null || header('forwarded') !== null || header('via') !== null;
  const direct = { address: peer ?? 'unknown', origin: null, proxied };
  if (peer === null || !isTrusted(peer)) return direct;
  const hops = (forwarded ?? '')
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '');
  // From the right: the last one was added by the proxy next to us, the first may have been made up by the client.
  let address = peer;
  for (let at = hops.length - 1; at >= 0 && isTrusted(address); at--) address = plain(hops[at]!);
  return { address, origin: forwardedOrigin(header), proxied };
}

function forwardedOrigin(header: (name: string) => string | null): string | null {
  const host = header('x-forwarded-host') ?? header('host');
  const proto = header('x-forwarded-proto');
  if (host === null || (proto !== 'http' && proto !== 'https')) return null;
  return /^[\w.-]+(:\d+)?$|^\[[0-9a-fA-F:.]+\](:\d+)?$/.test(host) ? `${proto}://${host}` : null;
}

/** `[::1]:99` and `1.2.3.4:99` without the port; what is no address at all is one unknown client. */
function plain(hop: string): string {
  const match = /^\[([0-9a-fA-F:.]+)\](?::\d+)?$|^([0-9.]+)(?::\d+)?$|^([0-9a-fA-F:.]+)$/.exec(hop);
  return match?.[1] ?? match?.[2] ?? match?.[3] ?? 'unknown';
}
