/**
 * Returns a function that calls `load` at the first call and memoizes its result. If `load` fails, the next call
 * tries again.
 */
export function lazily<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  return () => {
    loading ??= load().catch((error) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}
