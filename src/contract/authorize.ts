import { RelayError } from '../base/errors.ts';
import { type Caller, isAnonymous } from './caller.ts';
import type { Verb } from './verb.ts';

/**
 * The one place where it is decided whether a caller may do something: its key has the scope of the verb, and is not
 * kept from any channel that the verb touches; a share link leads to the reads of its thread. Every interface asks here, by way of the bound relay or directly.
 *
 * `input` is left out where it is not known yet: then the scope alone is looked at, before a body is read.
 */
export function authorize<V extends Verb>(caller: Caller, verb: V, input?: ChannelsInput<V>): void {
  const beyond = beyondShare(caller, verb, input);
  if (beyond) throw beyond;
  // What is visible by its link anybody may read, with any key or none; for the rest the domain looks at the scope.
  if (verb.byLink) return;
  const refused = refusal(caller, verb, input);
  if (refused) throw refused;
}

/** The same as a question, for lists and for answers that do not tell what is there. */
export function may<V extends Verb>(caller: Caller, verb: V, input?: ChannelsInput<V>): boolean {
  return refusal(caller, verb, input) === null;
}

/** For refusals, and for lists of channels, which leave out what the caller's key is kept from. */
export function mayUseChannel({ channelPrefix }: Caller, channel: string): boolean {
  return channelPrefix === undefined || channel.startsWith(channelPrefix);
}

/** Where a thing comes from: the channel it is on, and the id of the key that made it. */
export interface Origin {
  readonly channel?: string | null;
  readonly by?: string | null;
}

/**
 * The rule for keys that are bound to channels: such a key reaches what is on its channels and what it made itself. Every
 * other key reaches everything of its tenant. The domain asks wherever it finds a thing by its id, its name or in a list.
 */
export function reaches(caller: Caller, { channel, by }: Origin): boolean {
  if (caller.channelPrefix === undefined || caller.asRelay) return true;
  return (typeof channel === 'string' && mayUseChannel(caller, channel)) || hasMade(caller, by);
}

/** Whether the caller's key, or one that it took the place of, is the key with this id. */
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
      );
  }
  return null;
}

/** A share link leads to the reads of one thread. */
function beyondShare({ thread }: Caller, verb: Verb, input?: object): RelayError | null {
  if (thread === undefined) return null;
  const ofThread = verb.args.includes('thread_id') && input !== undefined;
  const asked = ofThread ? (input as { thread_id?: unknown }).thread_id : thread;
  return verb.shared && asked === thread
    ? null
    : forbidden('A share link shows one thread and nothing else.');
}

export function missingScope({ name }: Caller, scope: string): RelayError {
  return forbidden(`The key "${name}" does not have the scope "${scope}".`);
}

function forbidden(what: string): RelayError {
  return new RelayError('forbidden', { what });
}
