import type { ComponentChildren } from 'preact';

export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'quiet';

const TONES: { readonly [word: string]: Tone } = {
  done: 'ok',
  completed: 'ok',
  accepted: 'ok',
  alive: 'ok',
  acked: 'ok',
  idle: 'ok',
  live: 'ok',
  result: 'ok',
  answered: 'ok',
  read: 'ok',
  shown: 'busy',
  running: 'busy',
  working: 'busy',
  'in progress': 'busy',
  pulled: 'busy',
  notified: 'busy',
  queued: 'quiet',
  pending: 'quiet',
  skipped: 'quiet',
  stored: 'quiet',
  silent: 'warn',
  stuck: 'warn',
  blocked: 'warn',
  partial: 'warn',
  interrupted: 'warn',
  canceled: 'quiet',
  failed: 'bad',
  dead: 'bad',
  revoked: 'bad',
  expired: 'bad',
};

export function toneOf(word: string): Tone {
  return TONES[word] ?? 'quiet';
}

/** A status as a word. Its colour only repeats the word, for people who cannot tell the colours apart. */
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
