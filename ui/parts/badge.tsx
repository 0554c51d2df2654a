import type { ComponentChildren } from 'preact';

export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'quiet';

/** Words by tone. A word that is not listed is quiet. */
const WORDS: readonly (readonly [Tone, ...words: string[]])[] = [
  ['ok', 'done', 'completed', 'accepted', 'alive', 'acked', 'idle', 'live', 'result', 'answered', 'read'],
  ['busy', 'shown', 'running', 'working', 'in progress', 'pulled', 'notified'],
  ['warn', 'silent', 'stuck', 'blocked', 'partial', 'interrupted'],
  ['bad', 'failed', 'dead', 'revoked', 'expired'],
];

export function toneOf(word: string): Tone {
  return WORDS.find(([, ...words]) => words.includes(word))?.[0] ?? 'quiet';
}

/** A status as a word. Its colour only repeats the word, so people who cannot tell colours apart miss nothing. */
export function Badge({
  word,
  tone,
  children,
}: {
  word?: string;
  tone?: Tone;
  children?: ComponentChildren;
}) {
  return <span class={`badge ${tone ?? toneOf(word ?? '')}`}>{children ?? word}</span>;
}
