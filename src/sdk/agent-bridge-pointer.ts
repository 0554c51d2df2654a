import { parsePointer } from '../base/pointer-url.ts';

/** A pointer from the relay's own channel, to be asked from that relay whatever address stands in it. */
export async function ownPointer(
  url: string,
  resolve: (url: string) => Promise<string> = async (same) => same,
): Promise<string> {
  const { id, key } = parsePointer(url);
  return key === null ? id : resolve(url);
}
