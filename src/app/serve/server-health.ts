import type { IncomingMessage } from 'node:http';
import type { Health } from '../../interfaces/cli/host.ts';

const PATIENCE_MS = 3000;

/** What a relay at that address says about itself; null when nothing answers, or something that is no relay. */
export async function askHealth(url: string, patienceMs = PATIENCE_MS): Promise<Health | null> {
  try {
    const response = await (isOwnTls(url) ? askOwn : fetch)(`${url}/health`, {
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

/** A server on this machine may have a certificate for the name that others know it by, or one of its own making. */
function isOwnTls(url: string): boolean {
  return /^https:\/\/(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d+)?$/.test(url);
}

/** Whatever its certificate says: nothing is sent that anyone could want. */
async function askOwn(url: string, { signal }: { signal: AbortSignal }): Promise<Response> {
  const [{ get }, { text }] = await Promise.all([import('node:https'), import('node:stream/consumers')]);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { rejectUnauthorized: false, signal, agent: false }, resolve).on('error', reject);
  });
  return new Response(await text(response), { status: response.statusCode ?? 500 });
}
