/** The candidate that is meant: what other tools call so, or what a typing slip would have been; null when nothing is near. */
export function suggest(
  word: string,
  candidates: readonly string[],
  knownAs: { readonly [word: string]: readonly string[] } = {},
): string | null {
  const known = Object.hasOwn(knownAs, word) ? knownAs[word]! : [];
  return known.find((name) => candidates.includes(name)) ?? nearest(word, candidates);
}

function nearest(word: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = candidate.startsWith(word) && word.length >= 2 ? 1 : editDistance(word, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Damerau–Levenshtein with adjacent swaps, the slips fingers make. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j]!, before[j - 2]! + 1);
      }
    }
    before = previous;
    previous = row;
  }
  return previous[b.length]!;
}

/** What a command is called in other tools, for those who guess: the first of these that exists here is suggested. */
export const COMMANDS_KNOWN_AS: { readonly [word: string]: readonly string[] } = {
  add: ['create', 'new', 'put', 'push'],
  begin: ['start'],
  cat: ['get', 'pull', 'show'],
  check: ['doctor'],
  clean: ['prune'],
  close: ['done'],
  complete: ['done'],
  create: ['new', 'add', 'push'],
  decision: ['decide'],
  delete: ['rm', 'revoke'],
  download: ['get', 'pull'],
  emit: ['publish'],
  fetch: ['get', 'pull'],
  finish: ['done'],
  gc: ['prune'],
  get: ['show', 'pull'],
  health: ['status'],
  info: ['show', 'peek'],
  key: ['keys'],
  kill: ['down'],
  listen: ['watch'],
  log: ['tail'],
  logs: ['tail'],
  ls: ['list', 'runs'],
  list: ['runs'],
  new: ['add', 'create', 'init'],
  notify: ['publish'],
  ps: ['status'],
  put: ['push'],
  remove: ['rm', 'revoke'],
  rm: ['revoke'],
  send: ['push'],
  serve: ['up'],
  server: ['up'],
  setup: ['install'],
  share: ['push'],
  start: ['up'],
  stat: ['peek'],
  stop: ['down'],
  store: ['push'],
  subscribe: ['watch'],
  unblock: ['start'],
  upload: ['put', 'push'],
};

/** The same for options. */
export const OPTIONS_KNOWN_AS: { readonly [word: string]: readonly string[] } = {
  as: ['name'],
  background: ['detach'],
  bind: ['host'],
  daemon: ['detach'],
  description: ['notes', 'note'],
  encrypted: ['encrypt'],
  expire: ['ttl'],
  expires: ['ttl'],
  file: ['out'],
  metadata: ['meta'],
  name: ['as'],
  output: ['out'],
  regex: ['grep'],
  replaces: ['supersedes'],
  tag: ['meta'],
  why: ['reason'],
};
