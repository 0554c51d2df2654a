import { BlockList, isIP } from 'node:net';
import { RelayError } from '../../base/errors.ts';

/** Matches addresses against `10.0.0.1`, `10.0.0.0/8`, `fd00::/8` and `loopback`. */
export function trustList(entries: readonly string[]): (address: string) => boolean {
  if (entries.length === 0) return () => false;
  const list = new BlockList();
  for (const entry of entries.flatMap((word) => (word === 'loopback' ? ['127.0.0.0/8', '::1'] : [word]))) {
    add(list, entry);
  }
  return (address) => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
    const family = isIP(plain);
    return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  };
}

function add(list: BlockList, entry: string): void {
  const [address = '', bits, ...more] = entry.split('/');
  const family = isIP(address);
  const width = bits === undefined ? null : Number(bits);
  const fits =
    width === null || (Number.isInteger(width) && width >= 0 && width <= (family === 6 ? 128 : 32));
  if (family === 0 || !fits || bits === '' || more.length > 0) {
    throw new RelayError('bad_config', {
      where: 'trusted_proxies',
      what: `${JSON.stringify(entry)} is no address and no network such as 10.0.0.0/8.`,
    });
  }
  const type = family === 6 ? 'ipv6' : 'ipv4';
  if (width === null) list.addAddress(address, type);
  else list.addSubnet(address, width, type);
}
