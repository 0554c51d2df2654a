import { badRequest } from '../base/errors.ts';
import { AGENT_NAME_CHARS, CHANNEL_NAME_CHARS, GROUP_NAME_CHARS } from '../base/limits.ts';

/**
 * All keys and streams of a store. The part before the first slash is the unit of listing and sharding. Most keys contain the tenant; pointers,
 * API keys and share links are found by an id or a hash, and their records name the tenant.
 *
 *   ptr.<id>/meta                        record of a pointer: owner, size, hash, metadata, expiry
 *   ptr.<id>/<attempt>                   blob with the payload; each push and each renewal has its own
 *   ptr.<id>/pulls                       counter for `max_pulls`
 *   ptr.<id>/retry/<hash>                a pull with an Idempotency-Key, which may be repeated without being counted
 *   ptr.<id>/result                      the pointer with the result of this task; the first one counts
 *   ptr.<id>/receipts                    receipts; earlier versions kept them in the log rcp.<id>
 *   chn.<tenant>.<channel>               log of a channel
 *   grp.<tenant>.<channel>.<group>       log of a group: claims, acks, nacks, extensions
 *   thr.<tenant>.<id>                    log of a thread; its other data is under thr.<tenant>.<id>/. Threads of the relay's
 *                                        own tenant, and of earlier versions, are under thr.<id>
 *   act.<tenant>                         log of activity, trimmed
 *   fil.<tenant>.<space>/at/<path>       head of a file: current version, kept versions, expiry
 *   fil.<tenant>.<space>/old/<id>/<v>    an earlier version of a file
 *   fil.<tenant>.<space>/body/<attempt>  blob with a file's content
 *   key.<sha256>/key                     an API key, found by its hash
 *   shr.<sha256>/share                   a share link, found by the hash of its token
 *   ten.<tenant>/chn, grp, mbr, inbox    channels, groups, group members, inboxes and their cursors
 *   ten.<tenant>/inbox-follows           number of follows in all inboxes
 *   ten.<tenant>/keys, shares, spaces    lists of API keys, share links and spaces; key-used/<id>: last use of a key
 *   ten.<tenant>/dead/<channel>/<seq>    a dead letter that was retried or dropped
 *   ten.<tenant>/pointers/<time>.<id>    list of pointers, newest first
 *   ten.<tenant>/runs/<time>.<id>        list of pipeline runs, newest first
 *   ten.<tenant>/indexing/<thread>/<ref> progress of indexing a long artifact; index-pass: progress over all threads
 *   ten.<tenant>/settings                the tenant's plan
 *   ten.<tenant>/storage/…               storage used by threads, files and channels
 *   ten.<tenant>/trimmed/<channel>       how far a channel's messages were subtracted from it
 *   ten.<tenant>/threads, artifacts      list of threads; entries of the search index
 *   ten.<tenant>/imports/…               bundles that are being imported
 *   ten.<tenant>/capabilities/…          calls of capabilities that can be repeated
 *   ten.<tenant>/agent, tasks            bridges with their last heartbeat; channels that carry tasks
 *   ten.<tenant>/a2a/…                   tasks, contexts and webhooks of A2A
 *   ten.<tenant>/changed/<thread>        threads that changed since their figures were saved; totals.3: the saved figures
 *   ten.<tenant>/pushes/<month>          counter for a plan's push limit
 *   ten.<tenant>/stats/<day>/<key>       usage by operation
 *   ten.<tenant>/hourly                  figures by the hour, for a month
 *   sys.thr/<end>/<id>                   threads with an expiry, the next one first; sys.fil: files likewise
 *   sys/bucket                           the bucket of large bodies
 *   sys/arriving                         the source of a store that is still being filled
 *   sys/tidying                          lease of the server that sweeps
 *   sys/secret                           secret for idempotent ids and the marks of frames
 */

const DEAD = '.dead';

/** Checks a channel's name: any name except an empty one. */
export function checkChannelName(name: unknown): string {
  const channel = checkName('channel', name);
  // The channel of dead letters has a suffix, which must fit for the longest name.
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

/** Checks a number that a caller may choose. */
export function checkCount(what: string, count: number, most: number): number {
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw badRequest(`"${what}" must be a whole number from 1 to ${most}.`);
}

/** Returns the channel for work that a group of this channel could not do. Null for a channel of dead letters itself. */
export function deadLetterChannel(channel: string): string | null {
  return channel.endsWith(DEAD) ? null : channel + DEAD;
}

export function channelStream(tenant: string, channel: string): string {
  return `chn.${tenant}.${channel}`;
}

/** Returns a group's stream. Dots in the group's name are escaped, so the last dot always precedes the group. */
export function groupStream(tenant: string, channel: string, group: string): string {
  return `grp.${tenant}.${channel}.${group.replaceAll('%', '%25').replaceAll('.', '%2E')}`;
}

export const channelsPrefix = (tenant: string) => `ten.${tenant}/chn/`;
/** Key of the sequence up to which a channel's messages were subtracted from the storage. */
export const trimmedKey = (tenant: string, channel: string) => `ten.${tenant}/trimmed/${segment(channel)}`;
export const channelKey = (tenant: string, channel: string) => channelsPrefix(tenant) + segment(channel);

export const groupsPrefix = (tenant: string, channel: string) => `ten.${tenant}/grp/${segment(channel)}/`;
export const groupKey = (tenant: string, channel: string, group: string) =>
  groupsPrefix(tenant, channel) + segment(group);

/** Prefix of a group's members, one record per process. */
export const membersPrefix = (tenant: string, channel: string, group: string) =>
  `ten.${tenant}/mbr/${segment(channel)}/${segment(group)}/`;

export const inboxesPrefix = (tenant: string) => `ten.${tenant}/inbox/`;
/** Key of the number of follows in all inboxes of a tenant. */
export const followsKey = (tenant: string) => `ten.${tenant}/inbox-follows`;
export const inboxPrefix = (tenant: string, agent: string) => `${inboxesPrefix(tenant)}${segment(agent)}/`;
export const inboxKey = (tenant: string, agent: string, channel: string) =>
  inboxPrefix(tenant, agent) + segment(channel);

/**
 * Escapes a name as one segment of a key. Only characters that would split it are escaped, so that long names still
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
  if (!name.isWellFormed()) throw badRequest(`"${what}" contains half of a surrogate pair.`);
  if (name.includes('\u0000')) throw badRequest(`"${what}" contains a NUL character.`);
  // URLs interpret these two as "here" and "parent", however they are escaped.
  if (name === '.' || name === '..') throw badRequest(`"${what}" cannot be "${name}".`);
  return name;
}

/** Checks the length in characters, not in UTF-16 units. */
function checkLength(what: string, name: string, max: number): string {
  if (name.length > max && [...name].length > max)
    throw badRequest(`"${what}" is longer than ${max} characters.`);
  return name;
}

/** Key of a pointer's receipts. */
export const receiptsKey = (pointer: string) => `ptr.${pointer}/receipts`;
