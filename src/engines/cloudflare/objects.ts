/**
 * Number of Durable Objects over which each kind in `SPREAD_KINDS` is sharded. There may be millions of these small
 * items, and the platform would have to start an object for each of them. The number must never change, because it
 * determines where a key is stored. Channels share the objects of pointers.
 */
const SPREAD_OVER = 64;
const SPREAD_KINDS: { readonly [kind: string]: string } = {
  ptr: 'ptr',
  chn: 'ptr',
  key: 'key',
  tkt: 'tkt',
  adr: 'adr',
};
/**
 * Maximum length of a segment that is used as an object name. Longer segments are sharded, because the platform does
 * not tell an object its name if the name is longer than 1 KiB.
 */
const NAME_CHARS = 250;

/** Name of the Durable Object that lists all other objects. */
export const DIRECTORY = 'directory';

/** Matches the keys of a tenant's pointer list. Each key ends with the id of its pointer. */
const POINTER_LIST = /^ten\.[^/]*\/pointers\//;

/**
 * Returns the name of the Durable Object that stores a key or log. Keys with the same first segment are in one object,
 * so this object can answer a listing alone. A group is stored with its channel, so one object sees all events of the
 * group's members. Receipts and entries of the pointer list are stored with their pointer, so a push is one call and
 * one commit. The activity log of a tenant is stored with the tenant's counters.
 */
export function objectOf(name: string): string {
  if (POINTER_LIST.test(name)) return objectOf(`ptr.${name.slice(name.lastIndexOf('.') + 1)}`);
  if (name.startsWith('grp.')) return objectOf(`chn.${name.slice(4, name.lastIndexOf('.'))}`);
  if (name.startsWith('rcp.')) return objectOf(`ptr.${name.slice(4)}`);
  if (name.startsWith('act.')) return objectOf(`ten.${name.slice(4)}`);
  const segment = firstSegment(name);
  const dot = segment.indexOf('.');
  const kind = dot < 0 ? segment : segment.slice(0, dot);
  if (Object.hasOwn(SPREAD_KINDS, kind)) return `${SPREAD_KINDS[kind]}.${spread(segment)}`;
  return segment.length > NAME_CHARS ? `long.${spread(segment)}` : `of.${segment}`;
}

/** Returns the part of a name before the first slash. */
export function firstSegment(name: string): string {
  const slash = name.indexOf('/');
  return slash < 0 ? name : name.slice(0, slash);
}

/** Returns the names of all Durable Objects that may store keys with this prefix. */
export function objectsOf(prefix: string): string[] {
  if (!POINTER_LIST.test(prefix)) return [objectOf(prefix)];
  return Array.from({ length: SPREAD_OVER }, (_, i) => `ptr.${i}`);
}

const spread = (text: string) => shortHash(text) % SPREAD_OVER;

/** Returns the 32-bit FNV-1a hash. It distributes ids evenly but is not cryptographic. */
export function shortHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
