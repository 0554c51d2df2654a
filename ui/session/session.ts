import { computed, signal } from '@preact/signals';
import { isRelayError } from '../../src/base/errors.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { reportConnection } from './connection.ts';

/** A page that got no answer for so long says so, and offers to ask again. */
const ANSWER_WITHIN_MS = 20_000;
const STORED_KEY = 'contextrelay-key';

/** The key that requests are made with; null in open mode and before sign-in. It is never part of an address. */
export const apiKey = signal<string | null>(storedKey());

/** The relay wants a key, or another one. */
export const needsKey = signal(false);

/** Somebody who came by a link wants to sign in to see more. */
export const wantsKey = signal(false);

/** The relay that served the page, as whoever signed in sees it. */
export const relay = computed<Relay>(() =>
  httpRelay({
    baseUrl: location.origin,
    apiKey: apiKey.value ?? undefined,
    timeout: ANSWER_WITHIN_MS,
    retries: 1,
    onConnection: reportConnection,
  }),
);

/** `keep`: until the tab is closed; otherwise until it is reloaded. */
export function signIn(key: string, keep: boolean): void {
  if (keep) storage((kept) => kept.setItem(STORED_KEY, key));
  apiKey.value = key;
  needsKey.value = false;
  wantsKey.value = false;
}

export function signOut(): void {
  storage((kept) => kept.removeItem(STORED_KEY));
  apiKey.value = null;
  needsKey.value = true;
}

/** Whether an answer means that somebody has to sign in; then the page asks for a key. */
export function noteRefusal(error: unknown): void {
  if (isRelayError(error, 'unauthorized')) needsKey.value = true;
}

function storedKey(): string | null {
  return storage((kept) => kept.getItem(STORED_KEY)) ?? null;
}

/** Browsers that keep no data refuse to be asked. */
function storage<T>(use: (kept: Storage) => T): T | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}
