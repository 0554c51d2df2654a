import { apiKey } from './session.ts';

/** `/ui/share/<thread>#token=…`: whoever holds the link may read that thread, and nothing else. */
export function takeShareToken(): boolean {
  if (!/^\/ui\/share\//.test(location.pathname)) return false;
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  // Kept for a reload of this tab alone, and out of the address, the history and whatever is copied from it.
  if (token) {
    remember(token);
    history.replaceState(null, '', location.pathname + location.search);
  }
  apiKey.value = token ?? remembered();
  return true;
}

const STORED = 'contextrelay-share';

function remember(token: string): void {
  try {
    sessionStorage.setItem(STORED, token);
  } catch {
    // Then a reload needs the link once more.
  }
}

function remembered(): string | null {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null;
  }
}
