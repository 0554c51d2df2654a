import { apiKey } from './session.ts';

/** Takes the token from `/ui/share/<thread>#token=…`, which gives read access to that thread only. */
export function readShareToken(): boolean {
  if (!/^\/ui\/share\//.test(location.pathname)) return false;
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  // Keep the token for a reload of this tab, but out of the address, the history and copied links.
  if (token) {
    storeToken(token);
    history.replaceState(null, '', location.pathname + location.search);
  }
  apiKey.value = token ?? readStoredToken();
  return true;
}

const STORED = 'contextrelay-share';

function storeToken(token: string): void {
  try {
    sessionStorage.setItem(STORED, token);
  } catch {
    // Then a reload needs the link again.
  }
}

function readStoredToken(): string | null {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null;
  }
}
