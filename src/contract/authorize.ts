import { RelayError } from '../base/errors.ts';
import { type Caller, isAnonymous } from './caller.ts';
import type { Verb } from './verb.ts';

/**
 * Throws unless the caller may call the verb. The API key needs the scope of the verb and access to every channel
 * that the verb touches. A share link may only read its thread. All interfaces use this check.
 *
 * Without `input`, checks only the scope. Servers do this before they read a request body.
 */
export function authorize<V extends Verb>(caller: Caller, verb: V, input?: ChannelsInput<V>): void {
  const beyond = beyondShare(caller, verb, input);
  if (beyond) throw beyond;
  // The pointer may be readable without an API key, which only its record tells. So the domain checks the scope after
  // it has read the record.
  if (verb.byLink) return;
  const refused = refusal(caller, verb, input);
  if (refused) throw refused;
}

/**
 * Returns whether the caller may call the verb, to filter lists and to hide what exists. Unlike `authorize`, refuses
 * an API key without the scope of the verb even if the verb works without an API key (`byLink`).
 */
export function may<V extends Verb>(caller: Caller, verb: V, input?: ChannelsInput<V>): boolean {
  return refusal(caller, verb, input) === null;
}

/** Returns whether the API key of the caller may use the channel. */
export function mayUseChannel({ channelPrefix }: Caller, channel: string): boolean {
  return channelPrefix === undefined || channel.startsWith(channelPrefix);
}

/** Where a pointer, thread, file or share link comes from: its channel, and the id of the API key that created it. */
export interface Origin {
  readonly channel?: string | null;
  readonly by?: string | null;
}

/**
 * Returns whether the caller may access something with this origin. An API key with a channel prefix may access what
 * is on its channels and what it created. Any other API key may access everything of its tenant.
 */
export function reaches(caller: Caller, { channel, by }: Origin): boolean {
  if (caller.channelPrefix === undefined || caller.asRelay) return true;
  return (typeof channel === 'string' && mayUseChannel(caller, channel)) || hasMade(caller, by);
}

/** Returns whether `by` is the id of the caller's API key, or of an earlier key that was rotated into it. */
export function hasMade({ keyId, formerKeys = [] }: Caller, by: string | null | undefined): boolean {
  return by === keyId || (typeof by === 'string' && formerKeys.includes(by));
}

type ChannelsInput<V extends Verb> = Partial<Parameters<NonNullable<V['channels']>>[0]>;

function refusal(caller: Caller, verb: Verb, input?: object): RelayError | null {
  const beyond = beyondShare(caller, verb, input);
  if (beyond) return beyond;
  const { scope } = verb;
  if (scope !== null && !caller.scopes.includes(scope)) {
    if (isAnonymous(caller)) return verb.byLink ? null : new RelayError('unauthorized');
    return missingScope(caller, scope);
  }
  if (input === undefined || caller.channelPrefix === undefined || !verb.channels) return null;
  for (const channel of verb.channels(input)) {
    if (typeof channel === 'string' && !mayUseChannel(caller, channel))
      return forbidden(
        `The key "${caller.name}" may only use channels that begin with "${caller.channelPrefix}".`,
        'Use a channel with this prefix, or a key without a prefix.',
      );
  }
  return null;
}

/**
 * Returns an error if the caller uses a share link and the verb does more than read the thread of the link. Otherwise
 * returns null.
 */
function beyondShare({ thread }: Caller, verb: Verb, input?: object): RelayError | null {
  if (thread === undefined) return null;
  const ofThread = verb.args.includes('thread_id') && input !== undefined;
  const requested = ofThread ? (input as { thread_id?: unknown }).thread_id : thread;
  return verb.shared && requested === thread
    ? null
    : forbidden('A share link can only read its own thread.', 'For anything else, use an API key.');
}

export function missingScope({ name }: Caller, scope: string): RelayError {
  return forbidden(`The key "${name}" does not have the scope "${scope}".`);
}

function forbidden(what: string, hint?: string): RelayError {
  return new RelayError('forbidden', { what, hint });
}
