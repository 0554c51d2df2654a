import { nearest } from '../../base/nearest.ts';

/** Our words by those of other tools, with a space between the latter. */
type KnownAs = { readonly [words: string]: readonly string[] };

/** The candidate that is meant: what other tools call so, or what a typing slip would have been; null when nothing is near. */
export function suggest(word: string, candidates: readonly string[], knownAs: KnownAs = {}): string | null {
  const [, known] = Object.entries(knownAs).find(([words]) => words.split(' ').includes(word)) ?? [];
  return known?.find((name) => candidates.includes(name)) ?? nearest(word, candidates);
}

/** What commands are called in other tools, for those who guess: the first of these that exists here is suggested. */
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
  list: ['runs'],
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

/** The same for options. */
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
