import { computed, signal } from '@preact/signals';
import { isRelayError } from '../../src/base/errors.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';

/** Time in ms without an answer after which a page reports the delay and offers to retry. */
const REQUEST_TIMEOUT_MS = 20_000;
const STORED_KEY = 'contextrelay-key';
const STORED_SHARE = 'contextrelay-share';

/** State of the live connection; `idle` before there is one, or if the key may not read activity. */
export type ConnectionState = 'idle' | 'live' | 'lost';

export const connectionState = signal<ConnectionState>('idle');

/** API key of requests; null in open mode and before sign-in. It is never part of an address. */
export const apiKey = signal<string | null>(storedKey());

/** True if the relay requires an API key and the page has none that the relay accepts. */
export const needsKey = signal(false);

/** True if a visitor has asked to sign in on a page that needs no API key: a pointer or a shared thread. */
export const wantsKey = signal(false);

/** API of the relay that served the page, with the key of the signed-in user. */
export const relay = computed<Relay>(() =>
  httpRelay({
    baseUrl: location.origin,
    apiKey: apiKey.value ?? undefined,
    timeout: REQUEST_TIMEOUT_MS,
    retries: 1,
    onConnection: (lost) => {
      connectionState.value = lost ? 'lost' : 'live';
    },
  }),
);

/**
 * Signs in with an API key until the page is reloaded. With `keep`, the key stays until the tab is closed.
 */
export function signIn(key: string, keep: boolean): void {
  if (keep) storage((store) => store.setItem(STORED_KEY, key));
  apiKey.value = key;
  needsKey.value = false;
  wantsKey.value = false;
}

export function signOut(): void {
  storage((store) => store.removeItem(STORED_KEY));
  apiKey.value = null;
  needsKey.value = true;
}

/** Shows the sign-in if an error means that the relay requires a valid key. */
export function handleUnauthorized(error: unknown): void {
  if (isRelayError(error, 'unauthorized')) needsKey.value = true;
}

/**
 * Takes the token from `/ui/share/<thread>#token=…`. The token gives read access to that thread only.
 * Returns whether the address is a share link.
 */
export function readShareToken(): boolean {
  if (!/^\/ui\/share\//.test(location.pathname)) return false;
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  // Store the token, so that this tab can be reloaded. Remove the token from the address, so that it does not get
  // into the history and copied links.
  if (token) {
    storage((store) => store.setItem(STORED_SHARE, token));
    history.replaceState(null, '', location.pathname + location.search);
  }
  apiKey.value = token ?? storage((store) => store.getItem(STORED_SHARE)) ?? null;
  return true;
}

function storedKey(): string | null {
  return storage((store) => store.getItem(STORED_KEY)) ?? null;
}

/**
 * Calls `use` with the storage of the tab. Returns undefined if the browser has disabled storage, because every
 * access then throws.
 */
function storage<T>(use: (store: Storage) => T): T | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}
