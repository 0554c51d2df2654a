import { nearest } from '../../base/did-you-mean.ts';

/** Maps names in other tools to our names. Each key is a list of names, separated by spaces. */
type KnownAs = { readonly [words: string]: readonly string[] };

/**
 * Returns the name that the user probably meant: our word for a word of another tool, or a name with a
 * similar spelling. Returns null if there is none.
 */
export function suggest(word: string, candidates: readonly string[], knownAs: KnownAs = {}): string | null {
  const [, aliases] = Object.entries(knownAs).find(([words]) => words.split(' ').includes(word)) ?? [];
  return aliases?.find((name) => candidates.includes(name)) ?? nearest(word, candidates);
}

/**
 * Command names of other tools, with our names in order of preference. `suggest` takes the first one that
 * exists in the group.
 */
export const COMMANDS_KNOWN_AS: KnownAs = {
  add: ['create', 'new', 'put', 'push'],
  begin: ['start'],
  cat: ['get', 'pull', 'show'],
  check: ['doctor'],
  'clean gc': ['prune'],
  'close complete finish': ['done'],
  create: ['new', 'add', 'push'],
  decision: ['decide'],
  'delete remove': ['rm', 'revoke'],
  'download fetch': ['get', 'pull'],
  'emit notify': ['publish'],
  get: ['show', 'pull'],
  'health ps': ['status'],
  info: ['show', 'peek'],
  key: ['keys'],
  'kill stop': ['down'],
  list: ['ls', 'runs'],
  'listen subscribe': ['watch'],
  'log logs': ['tail'],
  ls: ['list', 'runs'],
  new: ['add', 'create', 'init'],
  'put send share store': ['push'],
  rm: ['revoke'],
  'serve server start': ['up'],
  setup: ['install'],
  stat: ['peek'],
  unblock: ['start'],
  upload: ['put', 'push'],
};

/** Option names of other tools, with our names. */
export const OPTIONS_KNOWN_AS: KnownAs = {
  as: ['name'],
  'background daemon': ['detach'],
  bind: ['host'],
  description: ['notes', 'note'],
  encrypted: ['encrypt'],
  'expire expires': ['ttl'],
  'file output': ['out'],
  'metadata tag': ['meta'],
  name: ['as'],
  regex: ['grep'],
  replaces: ['supersedes'],
  why: ['reason'],
};
