/**
 * Whether an IP address is one of the public internet. Everything that leads back to this machine, its network, or a
 * cloud's metadata service is not, also where it is wrapped in an IPv6 address.
 */
export function isPublicAddress(address: string): boolean {
  const v4 = parseV4(address);
  if (v4) return isPublicV4(v4);
  const v6 = parseV6(address.replace(/^\[|\]$/g, '').replace(/%.*$/, ''));
  return v6 !== null && isPublicV6(v6);
}

/**
 * Whether a host name or an address, in brackets or not, is this machine's own: only programs on it reach what listens
 * there, and no name server can lead it elsewhere.
 */
export function isLoopback(host: string): boolean {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  return bare === 'localhost' || bare === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(bare);
}

type V4 = readonly [number, number, number, number];

function parseV4(text: string): V4 | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  const parts = match?.slice(1).map(Number);
  return parts?.every((part) => part <= 255) ? (parts as unknown as V4) : null;
}

function isPublicV4([a, b, c]: V4): boolean {
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false;
  if (a === 100 && b >= 64 && b <= 127) return false;
  if (a === 169 && b === 254) return false;
  if (a === 172 && b >= 16 && b <= 31) return false;
  if (a === 192 && b === 168) return false;
  if (a === 192 && b === 0 && (c === 0 || c === 2)) return false;
  if (a === 192 && b === 88 && c === 99) return false;
  if (a === 198 && (b === 18 || b === 19)) return false;
  if (a === 198 && b === 51 && c === 100) return false;
  return !(a === 203 && b === 0 && c === 113);
}

/** Eight groups, or null. */
function parseV6(text: string): number[] | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const groups = (half: string): number[] | null => {
    if (half === '') return [];
    const out: number[] = [];
    for (const [i, part] of half.split(':').entries()) {
      const v4 = i === half.split(':').length - 1 ? parseV4(part) : null;
      if (v4) out.push((v4[0] << 8) | v4[1], (v4[2] << 8) | v4[3]);
      else if (/^[0-9a-f]{1,4}$/i.test(part)) out.push(Number.parseInt(part, 16));
      else return null;
    }
    return out;
  };
  const head = groups(halves[0]!);
  const tail = halves.length === 2 ? groups(halves[1]!) : [];
  if (!head || !tail) return null;
  if (halves.length === 1) return head.length === 8 ? head : null;
  const missing = 8 - head.length - tail.length;
  return missing >= 1 ? [...head, ...new Array<number>(missing).fill(0), ...tail] : null;
}

/** Only 2000::/3 is given out to the public; within it some blocks lead elsewhere. */
function isPublicV6(g: readonly number[]): boolean {
  const first = g[0]!;
  if ((first & 0xe000) !== 0x2000) return false;
  // Teredo, benchmarking, ORCHID, documentation, and 6to4, which carries an IPv4 address of anyone's choice.
  if (
    first === 0x2001 &&
    (g[1] === 0 || g[1] === 2 || (g[1]! & 0xfff0) === 0x10 || (g[1]! & 0xfff0) === 0x20)
  )
    return false;
  if (first === 0x2001 && g[1] === 0x0db8) return false;
  if (first === 0x3fff && g[1]! <= 0x0fff) return false;
  return first !== 0x2002;
}
