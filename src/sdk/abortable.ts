import { RelayError } from '../base/errors.ts';
import { deferred } from '../base/pause.ts';

/** Gives up on the promise when the signal says so. What runs over HTTP stops with it; what does not goes on unseen. */
export async function abortable<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  doing: string,
): Promise<T> {
  if (!signal) return promise;
  const stopped = deferred<never>();
  const stop = () => stopped.reject(new RelayError('aborted', { what: doing }, signal.reason));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([promise, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
    // Whichever lost has nobody to hear it.
    promise.catch(() => {});
  }
}
