import { badRequest } from '../base/errors.ts';
import { AGENT_NAME_CHARS, CHANNEL_NAME_CHARS, GROUP_NAME_CHARS } from '../base/limits.ts';

/**
 * Record keys, blob keys and log streams of a store. The part before the first slash is the unit of listing
 * and sharding. Most keys contain the tenant. Pointers, API keys and share links are found by an id or a
 * hash, and their records name the tenant.
 *
 *   ptr.<id>/meta                        record of a pointer: owner, size, hash, metadata, expiry
 *   ptr.<id>/<attempt>                   blob with the payload; each push and each renewal has its own blob
 *   ptr.<id>/pulls                       number of pulls, counted if the pointer has `max_pulls`
 *   ptr.<id>/retry/<hash>                number of tries of a pull with an Idempotency-Key
 *   ptr.<id>/look/<hash>                 number of looks of a caller that share one counted pull
 *   ptr.<id>/result                      result of the task with this id; only the first one is stored
 *   ptr.<id>/receipts                    receipts; earlier versions kept them in the log rcp.<id>
 *   chn.<tenant>.<channel>               log of a channel
 *   grp.<tenant>.<channel>.<group>       log of a group: claims, acks, nacks, lease renewals
 *   thr.<tenant>.<id>                    log of a thread; its other data is under thr.<tenant>.<id>/.
 *                                        Threads of the relay's own tenant, and threads of earlier
 *                                        versions, are under thr.<id>
 *   act.<tenant>                         log of activity; old entries are trimmed
 *   fil.<tenant>.<space>/at/<path>       head of a file: current version, kept versions, expiry
 *   fil.<tenant>.<space>/old/<id>/<v>    an earlier version of a file
 *   fil.<tenant>.<space>/body/<attempt>  blob with a file's content
 *   key.<sha256>/key                     an API key, found by its hash
 *   ask.<sha256>/link                    a link to answer a question, found by the hash of its token
 *   shr.<sha256>/share                   a share link, found by the hash of its token
 *   tkt.<sha256>/caller                  a WebSocket ticket, found by its hash
 *   ten.<tenant>/chn, grp, mbr, inbox    channels, groups, group members, inboxes and their cursors
 *   ten.<tenant>/inbox-follows           number of follows in all inboxes
 *   ten.<tenant>/delayed                 number of delayed messages that wait
 *   ten.<tenant>/keys, shares, spaces    lists of API keys, share links and spaces
 *   ten.<tenant>/questions/<id>          questions to people, with their answers
 *   ten.<tenant>/key-used/<id>           time of the last use of an API key or a share link
 *   ten.<tenant>/dead/<channel>/<seq>    mark of a dead letter that was retried or dropped
 *   ten.<tenant>/handles                 counter for the handles of pointers
 *   ten.<tenant>/pointers/<place>.<id>   list of pointers, newest first; `place` is the inverted handle
 *   ten.<tenant>/runs/<time>.<id>        list of pipeline runs, newest first
 *   ten.<tenant>/indexing/<thread>/<ref> progress of indexing a long artifact
 *   ten.<tenant>/index-pass              progress of indexing all threads
 *   ten.<tenant>/settings                the tenant's plan
 *   ten.<tenant>/storage/…               storage used by threads, files and channels
 *   ten.<tenant>/trimmed/<channel>       sequence up to which a channel's messages were subtracted
 *                                        from the storage
 *   ten.<tenant>/threads, artifacts      list of threads; entries of the search index
 *   ten.<tenant>/imports/…               bundles that are being imported
 *   ten.<tenant>/capabilities/…          cached results of capability calls
 *   ten.<tenant>/agent, tasks            bridges with their last heartbeat; channels that carry tasks
 *   ten.<tenant>/session/<name>          session of a coding agent that has the name
 *   ten.<tenant>/mail, mail-waiting      messages between agents; those that were neither shown nor read
 *   ten.<tenant>/mail-known/<agent>/…    senders that an agent knows
 *   ten.<tenant>/conversation/…          conversations of agents, newest first
 *   ten.<tenant>/claim/<project>/<what>  files and todos that agents have claimed
 *   ten.<tenant>/a2a/…                   tasks, contexts and webhooks of A2A
 *   ten.<tenant>/thread-figures/<thread> cached token figures of a thread; empty after a change
 *   ten.<tenant>/pushes/<month>          counter for a plan's push limit
 *   ten.<tenant>/stats/<day>/<key>       usage of an API key on a day, by operation
 *   ten.<tenant>/hourly                  counters per hour, kept for 32 days
 *   ten.<tenant>/figures/<hour>/…        storage size per hour, and counters of earlier versions
 *   ten.<tenant>/spending/<day>/<thread> tokens of prompts, by agent, model and project
 *   sys.thr/<end>/<id>                   threads with an expiry, the earliest first
 *   sys.fil/<end>/<tenant>.<space>/…     files with an expiry, the earliest first
 *   sys.dly/<due>/<id>                   messages with a delay, the earliest first
 *   sys/bucket                           address of the bucket with large bodies
 *   sys/moved                            mark of a Worker whose former store was moved
 *   sys/arriving                         name of the store that is being copied into this one
 *   sys/tidying                          lease of the server that sweeps
 *   sys/secret                           secret for idempotent ids and the marks of frames
 */

const DEAD = '.dead';

/** Checks the name of a channel and returns it. Throws `bad_request` if the name is invalid. */
export function checkChannelName(name: unknown): string {
  const channel = checkName('channel', name);
  // The length limit applies to the name without the dead-letter suffix, so that a channel with the longest
  // name can have a dead-letter channel too.
  const own = channel.endsWith(DEAD) ? channel.slice(0, -DEAD.length) : channel;
  checkLength('channel', own, CHANNEL_NAME_CHARS);
  return channel;
}

export function checkGroupName(name: unknown): string {
  return checkLength('group', checkName('group', name), GROUP_NAME_CHARS);
}

export function checkAgentName(name: unknown): string {
  return checkLength('agent', checkName('agent', name), AGENT_NAME_CHARS);
}

/** Checks that a number from a caller is a whole number from 1 to `most`. */
export function checkCount(what: string, count: number, most: number): number {
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw badRequest(`"${what}" must be a whole number from 1 to ${most}.`);
}

/**
 * Returns the dead-letter channel of a channel. It gets the messages that a group could not process. Returns
 * null if `channel` is itself a dead-letter channel.
 */
export function deadLetterChannel(channel: string): string | null {
  return channel.endsWith(DEAD) ? null : channel + DEAD;
}

export function channelStream(tenant: string, channel: string): string {
  return `chn.${tenant}.${channel}`;
}

/**
 * Returns the stream of a group's log. Dots in the group's name are escaped, so the group's name always
 * starts after the last dot.
 */
export function groupStream(tenant: string, channel: string, group: string): string {
  return `grp.${tenant}.${channel}.${group.replaceAll('%', '%25').replaceAll('.', '%2E')}`;
}

export const channelsPrefix = (tenant: string) => `ten.${tenant}/chn/`;
/**
 * Key of a record with a sequence. The channel's messages up to this sequence no longer count in the tenant's storage.
 */
export const trimmedKey = (tenant: string, channel: string) => `ten.${tenant}/trimmed/${segment(channel)}`;
export const channelKey = (tenant: string, channel: string) => channelsPrefix(tenant) + segment(channel);

export const groupsPrefix = (tenant: string, channel: string) => `ten.${tenant}/grp/${segment(channel)}/`;
export const groupKey = (tenant: string, channel: string, group: string) =>
  groupsPrefix(tenant, channel) + segment(group);

/** Prefix of the records that list a group's members. Each process has one record. */
export const membersPrefix = (tenant: string, channel: string, group: string) =>
  `ten.${tenant}/mbr/${segment(channel)}/${segment(group)}/`;

/** Key of the counter of delayed messages that are not published yet. */
export const delayedKey = (tenant: string) => `ten.${tenant}/delayed`;
export const inboxesPrefix = (tenant: string) => `ten.${tenant}/inbox/`;
/** Key of the counter of follows in all inboxes of a tenant. */
export const followsKey = (tenant: string) => `ten.${tenant}/inbox-follows`;
export const inboxPrefix = (tenant: string, agent: string) => `${inboxesPrefix(tenant)}${segment(agent)}/`;
export const inboxKey = (tenant: string, agent: string, channel: string) =>
  inboxPrefix(tenant, agent) + segment(channel);

/**
 * Escapes a name, so that it is one segment of a key. Only `%` and `/` are escaped, so that long names still
 * fit.
 */
export function segment(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('/', '%2F');
}

export function fromSegment(text: string): string {
  return text.replaceAll('%2F', '/').replaceAll('%25', '%');
}

function checkName(what: string, name: unknown): string {
  if (typeof name !== 'string') throw badRequest(`"${what}" must be a string.`);
  if (name === '') throw badRequest(`"${what}" must not be empty.`);
  if (!name.isWellFormed()) throw badRequest(`"${what}" contains an unpaired surrogate.`);
  if (name.includes('\u0000')) throw badRequest(`"${what}" contains a NUL character.`);
  // URL parsers read these two names as "this folder" and "parent folder", even if they are escaped.
  if (name === '.' || name === '..') throw badRequest(`"${what}" cannot be "${name}".`);
  return name;
}

/** Checks the length in Unicode characters, not in UTF-16 units. */
function checkLength(what: string, name: string, max: number): string {
  if (name.length > max && [...name].length > max)
    throw badRequest(`"${what}" is longer than ${max} characters.`);
  return name;
}

export const receiptsKey = (pointer: string) => `ptr.${pointer}/receipts`;
