import { isRelayError } from '../../src/base/errors.ts';
import { HttpClient } from '../../src/sdk/http-client.ts';
import { collect } from '../../src/sdk/payload.ts';

export interface HealthReport {
  readonly healthy: boolean;
  readonly ready: boolean;
  readonly version: string | null;
  /** A message of the relay, such as the advice to restart it; null if there is none. */
  readonly note: string | null;
  /** Problems of the store, one sentence each. */
  readonly warnings: readonly string[];
}

/**
 * Returns whether the relay is healthy, whether its store accepts writes, its version and its warnings. Throws if the
 * relay cannot be reached.
 */
export async function readHealth(): Promise<HealthReport> {
  const client = new HttpClient({ baseUrl: location.origin, retries: 0, timeout: 10_000 });
  const ask = async (path: string) => {
    try {
      return await client.run(
        { method: 'GET', path, repeatable: true, doing: 'health' },
        async ({ body }) => {
          const bytes = await collect(body ?? new Uint8Array(), { bytes: 64 * 1024, what: 'an answer' });
          return JSON.parse(new TextDecoder().decode(bytes)) as {
            version?: string;
            restart?: string;
            writable?: false;
            warnings?: readonly string[];
          };
        },
      );
    } catch (error) {
      if (isRelayError(error, 'unreachable')) throw error;
      return null;
    }
  };
  const [health, ready] = await Promise.all([ask('/health'), ask('/ready')]);
  return {
    healthy: health !== null,
    ready: ready !== null && ready.writable !== false,
    version: health?.version ?? null,
    note: ready?.restart ?? null,
    warnings: ready?.warnings ?? [],
  };
}
