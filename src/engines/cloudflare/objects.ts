/**
 * What there may be millions of, each small and each alone: pointers, channels, keys, receipts, tickets, addresses. They are spread over this
 * many objects of their kind; an object for each would cost a start for each. The number can never change: it says where a key is.
 * Channels share the objects of pointers.
 */
const SPREAD_OVER = 64;
const SPREAD_KINDS: { readonly [kind: string]: string } = {
  ptr: 'ptr',
  chn: 'ptr',
  key: 'key',
  tkt: 'tkt',
  adr: 'adr',
};
/** Objects are not told names beyond 1 KiB: segments that might be so long are spread over as many objects. */
const NAME_CHARS = 250;

/** The object that lists all others. */
export const DIRECTORY = 'directory';

/** The entries of a tenant's list of pointers: the id of a pointer is the last thing in its entry. */
const POINTER_LIST = /^ten\.[^/]*\/pointers\//;

/**
 * The object in which a key or a stream lives: that of its first segment, so that one object answers a listing. The groups of a
 * channel live with it, so that one object hears of all that concerns its members; receipts live with their pointer, and so does its entry in the
 * list of its tenant, so that a push is one call and one commit; and what happens in a tenant with what is counted of it.
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

export function firstSegment(name: string): string {
  const slash = name.indexOf('/');
  return slash < 0 ? name : name.slice(0, slash);
}

/** The objects in which what begins so lives. */
export function objectsOf(prefix: string): string[] {
  if (!POINTER_LIST.test(prefix)) return [objectOf(prefix)];
  return Array.from({ length: SPREAD_OVER }, (_, i) => `ptr.${i}`);
}

const spread = (text: string) => shortHash(text) % SPREAD_OVER;

/** FNV-1a, 32 bits: even enough for ids and hashes, and no more than that. */
export function shortHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
