/**
 * What there may be millions of, each small and each alone: pointers, keys, receipts, tickets, addresses. They are spread over this many
 * objects of their kind; an object for each would cost a start for each. The number can never change: it says where a key is.
 */
const SPREAD_OVER = 64;
const SPREAD_KINDS = ['ptr', 'key', 'rcp', 'tkt', 'adr'];

/** The object that lists all others. */
export const DIRECTORY = 'directory';

/**
 * The object in which a key or a stream lives: that of its first segment, so that one object answers a listing. The groups of a
 * channel live with it, so that one object hears of all that concerns its members.
 */
export function objectOf(name: string): string {
  if (name.startsWith('grp.')) return `of.chn.${name.slice(4, name.lastIndexOf('.'))}`;
  const slash = name.indexOf('/');
  const segment = slash < 0 ? name : name.slice(0, slash);
  const dot = segment.indexOf('.');
  const kind = dot < 0 ? segment : segment.slice(0, dot);
  return SPREAD_KINDS.includes(kind) ? `${kind}.${spread(segment)}` : `of.${segment}`;
}

/** FNV-1a: even enough for ids and hashes. */
function spread(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % SPREAD_OVER;
}
