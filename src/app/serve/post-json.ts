const PATIENCE_MS = 10_000;

/**
 * Posts to an address of the operator's choosing and nowhere else: a redirect is a failure. Throws where it is not taken,
 * and says then that `who` answered so.
 */
export async function postJson(url: string, body: unknown, who: string): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`${who} answered with ${response.status}`);
}
