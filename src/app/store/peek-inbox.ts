import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { Inbox } from '../../contract/inbox.ts';
import type { Config } from '../config.ts';

/**
 * For hooks, which must not hold anybody up: one question, no retry. A store is not made for the sake of looking, and the
 * request to a server ends when `signal` says so.
 */
export async function peekInbox(
  config: Config,
  agent: string,
  o: { readonly limit: number; readonly signal: AbortSignal },
): Promise<Inbox | null> {
  const { remote, apiKey } = config;
  if (remote !== null) {
    const answer = await fetch(`${remote}/inbox/${encodeURIComponent(agent)}?limit=${o.limit}`, {
      headers: { Accept: 'application/json', ...(apiKey ? { Authorization: `Bearer ${apiKey}` } : {}) },
      // The key goes to the relay alone.
      redirect: 'error',
      signal: o.signal,
    });
    if (!answer.ok) throw new Error(`the relay at ${remote} answered ${answer.status}`);
    return (await answer.json()) as Inbox;
  }
  if (!existsSync(join(config.home, 'relay.db'))) return null;
  const { openCore } = await import('./open-core.ts');
  await using open = await openCore(config, 'cli');
  return await open.core.relay(LOCAL_CALLER, config.publicUrl).inbox.read(agent, { limit: o.limit });
}
