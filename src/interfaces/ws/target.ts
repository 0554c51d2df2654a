import { badRequest } from '../../base/errors.ts';
import { percentDecoded } from '../../base/utf8.ts';
import type { SubscribeOptions } from '../../contract/channels.ts';
import { checkSubscription } from '../../domain/channels/reader.ts';
import { checkChannelName } from '../../domain/names.ts';

/** What a socket asks for in its address. */
export interface Target extends Omit<SubscribeOptions, 'signal'> {
  readonly channel: string;
  readonly ticket?: string;
}

const PREFIXES = ['/ws/', '/v1/ws/'];

/** Null where the address is none for sockets. Taken from the request line itself, before anything could rewrite it. */
export function parseTarget(url: string): Target | null {
  const at = url.indexOf('?');
  const path = at < 0 ? url : url.slice(0, at);
  const prefix = PREFIXES.find((each) => path.startsWith(each));
  if (!prefix) return null;
  const channel = percentDecoded(path.slice(prefix.length));
  if (channel === null) throw badRequest('The name of the channel is not percent-encoded UTF-8.');
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
  const field = (name: string) => query.get(name) ?? undefined;
  return {
    ...checkSubscription({ since: field('since'), group: field('group'), prefetch: field('prefetch') }),
    channel: checkChannelName(channel),
    ticket: field('ticket'),
  };
}
