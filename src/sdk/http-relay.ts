import { type Relay, VERBS } from '../contract/relay.ts';
import type { Verbs } from '../contract/verb.ts';
import { httpActivity } from './http-activity.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { httpFiles } from './http-files.ts';
import { httpPointers } from './http-pointers.ts';
import { httpThreads } from './http-threads.ts';
import { followSocket } from './socket-follower.ts';
import { type HandMade, VerbCalls } from './verb-calls.ts';

type Parts = typeof VERBS;
/** The methods written by hand, of every part that has any. */
type WrittenByHand = {
  readonly [P in keyof Parts as keyof HandMade<Parts[P]> extends never ? never : P]: HandMade<Parts[P]>;
};

/** A relay at the other end of HTTP, made from the table; only what streams or stays open is written by hand. */
export function httpRelay(options: HttpOptions): Relay {
  const calls = new VerbCalls(new HttpClient(options));
  const byHand: { readonly [part: string]: object } = {
    pointers: httpPointers(calls),
    channels: { subscribe: (channel, o = {}) => followSocket(calls, options, channel, o) },
    threads: httpThreads(calls, options),
    files: httpFiles(calls),
    activity: httpActivity(calls, options),
  } satisfies WrittenByHand;
  const parts = Object.entries<Verbs>(VERBS).map(([part, verbs]) => [part, calls.api(verbs, byHand[part])]);
  return { ...Object.fromEntries(parts), [Symbol.asyncDispose]: async () => {} };
}
