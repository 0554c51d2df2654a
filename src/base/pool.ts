/** So many at once; the first that fails ends it, once the others are done. */
export async function inPool<T>(
  items: AsyncIterable<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failed: { error: unknown } | undefined;
  for await (const item of items) {
    const one = work(item)
      .catch((error) => {
        failed ??= { error };
      })
      .finally(() => running.delete(one));
    running.add(one);
    if (running.size >= width) await Promise.race(running);
    if (failed) break;
  }
  await Promise.all(running);
  if (failed) throw failed.error;
}
