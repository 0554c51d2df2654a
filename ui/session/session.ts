import { computed, signal } from '@preact/signals';
import { isRelayError } from '../../src/base/errors.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { reportConnection } from './connection.ts';

/** After this time without an answer a page says so and offers to retry. */
const REQUEST_TIMEOUT_MS = 20_000;
const STORED_KEY = 'contextrelay-key';

/** API key of requests; null in open mode and before sign-in. It is never part of an address. */
export const apiKey = signal<string | null>(storedKey());

/** True if the relay requires a key or another one. */
export const needsKey = signal(false);

/** True if a visitor with a link wants to sign in. */
export const wantsKey = signal(false);

/** The relay that served the page, for the signed-in user. */
export const relay = computed<Relay>(() =>
  httpRelay({
    baseUrl: location.origin,
    apiKey: apiKey.value ?? undefined,
    timeout: REQUEST_TIMEOUT_MS,
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

/** Asks for a key if an error means that sign-in is required. */
export function handleUnauthorized(error: unknown): void {
  if (isRelayError(error, 'unauthorized')) needsKey.value = true;
}

function storedKey(): string | null {
  return storage((kept) => kept.getItem(STORED_KEY)) ?? null;
}

/** Browsers with storage disabled throw on access. */
function storage<T>(use: (kept: Storage) => T): T | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}
