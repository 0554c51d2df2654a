/** What one request works on at the same time: enough for an engine to do much of it together. */
const SIDE_BY_SIDE = 250;

/** Does some of the work at a time, and gives the results in the order of the items. Where one fails no other is begun, and it throws once none is under way. */
export async function sideBySide<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const worker = async () => {
    try {
      for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!);
    } finally {
      next = items.length;
    }
  };
  const workers = Array.from({ length: Math.min(SIDE_BY_SIDE, items.length) }, worker);
  for (const ended of await Promise.allSettled(workers)) if (ended.status === 'rejected') throw ended.reason;
  return results;
}
