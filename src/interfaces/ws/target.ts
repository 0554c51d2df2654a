import { RelayError } from '../../base/errors.ts';
import type { Since } from '../../contract/channels.ts';
import { checkPrefetch } from '../../domain/channels/groups.ts';
import { parseSince } from '../../domain/channels/start.ts';
import { checkChannelName, checkGroupName } from '../../domain/names.ts';

/** What a socket asks for in its address. */
export interface Target {
  readonly channel: string;
  readonly since?: Since;
  readonly group?: string;
  readonly prefetch?: number;
  readonly ticket?: string;
}

const PREFIXES = ['/ws/', '/v1/ws/'];

/** Null where the address is none for sockets. Taken from the request line itself, before anything could rewrite it. */
export function parseTarget(url: string): Target | null {
  const at = url.indexOf('?');
  const path = at < 0 ? url : url.slice(0, at);
  const prefix = PREFIXES.find((each) => path.startsWith(each));
  if (!prefix) return null;
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
  const since = query.get('since') ?? undefined;
  const group = query.get('group') ?? undefined;
  const prefetch = query.get('prefetch') ?? undefined;
  const ticket = query.get('ticket') ?? undefined;
  parseSince(since);
  return {
    channel: checkChannelName(decoded(path.slice(prefix.length))),
    ...(since === undefined ? {} : { since }),
    ...(group === undefined ? {} : { group: checkGroupName(group) }),
    ...(prefetch === undefined ? {} : { prefetch: checkPrefetch(Number(prefetch)) }),
    ...(ticket === undefined ? {} : { ticket }),
  };
}

function decoded(rest: string): string {
  try {
    return decodeURIComponent(rest);
  } catch {
    throw new RelayError('bad_request', { what: 'The name of the channel is not percent-encoded UTF-8.' });
  }
}
