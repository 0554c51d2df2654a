import type { Health } from '../interfaces/cli/host.ts';

const PATIENCE_MS = 3000;

/** What a relay at that address says about itself; null when nothing answers, or something that is no relay. */
export async function askHealth(url: string, patienceMs = PATIENCE_MS): Promise<Health | null> {
  try {
    const response = await fetch(`${url}/health`, {
      signal: AbortSignal.timeout(patienceMs),
      redirect: 'error',
      headers: { Accept: 'application/json' },
    });
    const answer: unknown = await response.json();
    if (typeof answer !== 'object' || answer === null) return null;
    // An unwell relay answers with its error instead.
    if ('status' in answer && typeof answer.status === 'string') return answer as Health;
    return 'error' in answer && 'code' in answer ? { status: String(answer.error) } : null;
  } catch {
    return null;
  }
}
