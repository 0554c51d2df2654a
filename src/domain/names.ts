import { badRequest } from '../base/errors.ts';
import { AGENT_NAME_CHARS, CHANNEL_NAME_CHARS, GROUP_NAME_CHARS } from '../base/limits.ts';

const DEAD = '.dead';

/** Any name but none. */
export function checkChannelName(name: unknown): string {
  const channel = checkName('channel', name);
  // The place for dead letters exists for the longest name too.
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

/** A number of things that a caller may choose. */
export function checkCount(what: string, count: number, most: number): number {
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw badRequest(`"${what}" is a whole number from 1 to ${most}.`);
}

/** Where work ends up that a group of this channel could not do. A dead letter does not die twice: null. */
export function deadLetterChannel(channel: string): string | null {
  return channel.endsWith(DEAD) ? null : channel + DEAD;
}

export function channelStream(tenant: string, channel: string): string {
  return `chn.${tenant}.${channel}`;
}

/** A dot in the group's name is escaped, so that the last one always stands before the group. */
export function groupStream(tenant: string, channel: string, group: string): string {
  return `grp.${tenant}.${channel}.${group.replaceAll('%', '%25').replaceAll('.', '%2E')}`;
}

export const channelsPrefix = (tenant: string) => `ten.${tenant}/chn/`;
/** Up to which sequence what a channel's messages took up was freed. */
export const trimmedKey = (tenant: string, channel: string) => `ten.${tenant}/trimmed/${segment(channel)}`;
export const channelKey = (tenant: string, channel: string) => channelsPrefix(tenant) + segment(channel);

export const groupsPrefix = (tenant: string, channel: string) => `ten.${tenant}/grp/${segment(channel)}/`;
export const groupKey = (tenant: string, channel: string, group: string) =>
  groupsPrefix(tenant, channel) + segment(group);

/** Who is at work in a group, one record per process. */
export const membersPrefix = (tenant: string, channel: string, group: string) =>
  `ten.${tenant}/mbr/${segment(channel)}/${segment(group)}/`;

export const inboxesPrefix = (tenant: string) => `ten.${tenant}/inbox/`;
/** How many follows there are in all inboxes of a tenant. */
export const followsKey = (tenant: string) => `ten.${tenant}/inbox-follows`;
export const inboxPrefix = (tenant: string, agent: string) => `${inboxesPrefix(tenant)}${segment(agent)}/`;
export const inboxKey = (tenant: string, agent: string, channel: string) =>
  inboxPrefix(tenant, agent) + segment(channel);

/** A name as one segment of a key; only what would split it is escaped, so that long names still fit. */
export function segment(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('/', '%2F');
}

export function fromSegment(text: string): string {
  return text.replaceAll('%2F', '/').replaceAll('%25', '%');
}

function checkName(what: string, name: unknown): string {
  if (typeof name !== 'string') throw badRequest(`"${what}" must be a string.`);
  if (name === '') throw badRequest(`"${what}" must not be empty.`);
  if (!name.isWellFormed()) throw badRequest(`"${what}" holds half of a surrogate pair.`);
  if (name.includes('\u0000')) throw badRequest(`"${what}" holds a NUL character.`);
  // However they are escaped, a URL takes these two for "here" and "one up".
  if (name === '.' || name === '..') throw badRequest(`"${what}" cannot be "${name}".`);
  return name;
}

/** In characters as people see them, not in UTF-16 units. */
function checkLength(what: string, name: string, max: number): string {
  if (name.length > max && [...name].length > max)
    throw badRequest(`"${what}" is longer than ${max} characters.`);
  return name;
}

/** Who has seen a pointer. */
export const receiptsKey = (pointer: string) => `ptr.${pointer}/receipts`;
