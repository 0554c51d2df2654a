import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { Inbox } from '../../contract/channels.ts';
import { sha256 } from '../../engines/body-hashes.ts';
import type { Config } from '../config.ts';
import { homeEngine } from '../serve/pid-file.ts';
import { readJsonFile, writeAtomically } from './atomic-file.ts';
import { makeHome } from './home.ts';
import type { Warn } from './open-core.ts';
import { deleteOldFiles } from './sessions.ts';

/**
 * Reads the newest messages of an inbox for a hook. Leaves out messages that a hook has already shown to `session`.
 * Returns null if there is no store. To delay the agent as little as possible, a server gets one request without a
 * retry, which `signal` aborts.
 */
export async function peekInbox(
  config: Config,
  agent: string,
  o: { readonly limit: number; readonly signal: AbortSignal; readonly session: string | null },
  warn?: Warn,
): Promise<Inbox | null> {
  const inbox = await readNewest(config, agent, o, warn);
  if (inbox === null || inbox.messages.length === 0 || o.session === null) return inbox;
  const folder = join(config.home, 'told');
  const whose = JSON.stringify([config.remote, agent, o.session]);
  const file = join(folder, `${sha256(whose).slice(0, 24)}.json`);
  // Sequence number of the last message that the session was shown, by channel.
  const shownSeqs = (readJsonFile(file) ?? {}) as Inbox['cursors'];
  const messages = inbox.messages.filter(({ channel, seq }) => seq > (shownSeqs[channel] ?? 0));
  // If the caller has aborted, it does not show the messages, so do not record them as seen.
  if (messages.length > 0 && !o.signal.aborted) {
    makeHome(config.home);
    await writeAtomically(file, JSON.stringify({ ...shownSeqs, ...inbox.cursors }), {
      mode: 0o600,
      flush: false,
    });
    deleteOldFiles(folder);
  }
  return { ...inbox, messages, more: inbox.more && messages.length === inbox.messages.length };
}

async function readNewest(
  config: Config,
  agent: string,
  o: { readonly limit: number; readonly signal: AbortSignal },
  warn: Warn | undefined,
): Promise<Inbox | null> {
  const { remote, apiKey } = config;
  if (remote !== null) {
    const answer = await fetch(`${remote}/inbox/${encodeURIComponent(agent)}?limit=${o.limit}&newest=1`, {
      headers: { Accept: 'application/json', ...(apiKey ? { Authorization: `Bearer ${apiKey}` } : {}) },
      // Do not follow redirects, because another host must not get the API key.
      redirect: 'error',
      signal: o.signal,
    });
    if (!answer.ok) throw new Error(`the relay at ${remote} answered ${answer.status}`);
    return (await answer.json()) as Inbox;
  }
  if (homeEngine(config) === null && !existsSync(join(config.home, 'relay.db'))) return null;
  const { openCore } = await import('./open-core.ts');
  await using open = await openCore(config, 'cli', { warn });
  return await open.core
    .relay(LOCAL_CALLER, config.publicUrl)
    .inbox.read(agent, { limit: o.limit, newest: true });
}
