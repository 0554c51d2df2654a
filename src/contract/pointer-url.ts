import { RelayError } from '../base/errors.ts';
import { isUuid } from '../base/ids.ts';

export interface PointerRef {
  /** Id of the pointer, or its handle, such as `relay:128`. */
  readonly id: string;
  /** Base URL: `https://host`, with the path before `/pull/` if there is one. Null for a bare id or handle. */
  readonly base: string | null;
  /** The Fernet key from the fragment. It is never sent to a server. */
  readonly key: string | null;
  /** The whole URL, if it does not have the form of a pointer URL. In this case `id` is the whole URL too. */
  readonly address?: string;
}

export function pointerUrl(base: string, id: string, key?: string | null): string {
  return withKey(`${base.replace(/\/+$/, '')}/pull/${id}`, key);
}

/** Appends the encryption key of a payload to its URL or handle. Clients never send this fragment to a server. */
export function withKey(pointer: string, key: string | null | undefined): string {
  return key ? `${pointer}#key=${key}` : pointer;
}

/**
 * Returns the handle with this number, such as `relay:128`. A handle is a name within a tenant and grants no access.
 */
export function formatHandle(number: number): string {
  return `${HANDLE_PREFIX}${number}`;
}

/** Returns the handle of a record as a field of an answer. Pointers of earlier versions have no handle. */
export function handleOf({ handle }: { readonly handle?: number }): { handle?: string } {
  return handle === undefined ? {} : { handle: formatHandle(handle) };
}

/** Returns the number of a handle, or null if the text is not a handle. Throws `bad_url` for a mistyped one. */
export function parseHandle(text: string): number | null {
  if (!text.startsWith(HANDLE_PREFIX)) return null;
  const digits = text.slice(HANDLE_PREFIX.length);
  if (/^[1-9]\d{0,13}$/.test(digits)) return Number(digits);
  throw new RelayError('bad_url', {
    what: `${JSON.stringify(text.slice(0, 40))} is not a handle, because "${digits.slice(0, 20)}" is not a whole number of at least 1`,
    hint: 'A handle looks like relay:128. GET /pointers and the dashboard list the handles of your tenant.',
  });
}

const HANDLE_PREFIX = 'relay:';

/**
 * Parses `https://host/pull/<uuid>#key=…`, a bare id or a handle. A URL cannot contain a handle: two relays
 * use the same handles for different pointers.
 */
export function parsePointer(text: string): PointerRef {
  const trimmed = text.trim();
  if (isUuid(trimmed)) return { id: trimmed.toLowerCase(), base: null, key: null };
  const [name, fragment] = trimmed.split(/(?=#)/, 2) as [string, string?];
  if (parseHandle(name) !== null) return { id: name, base: null, key: fragmentKey(fragment ?? '') };
  let url: URL;
  try {
    url = new URL(trimmed);
  } catch {
    throw new RelayError('bad_url', { what: 'it is neither a URL nor an id nor a handle' });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new RelayError('bad_url', { what: `${url.protocol}// is not http:// or https://` });
  }
  const match = /^(.*)\/pull\/([^/]+)\/?$/.exec(url.pathname);
  if (!match || !isUuid(match[2]!)) {
    throw new RelayError('bad_url', { what: 'its path does not end in /pull/<uuid>' });
  }
  return { id: match[2]!.toLowerCase(), base: url.origin + match[1], key: fragmentKey(url.hash) };
}

/**
 * Parses a pointer or any other HTTP URL. A server that is not a relay may answer at that URL in the format of a
 * relay.
 */
export function parseReadable(text: string): PointerRef {
  try {
    return parsePointer(text);
  } catch (error) {
    const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null;
    if (!url || !/^https?:$/.test(url.protocol) || url.pathname === '/' || url.username || url.password)
      throw error;
    const address = url.origin + url.pathname + url.search;
    return { id: address, base: url.origin, key: fragmentKey(url.hash), address };
  }
}

function fragmentKey(hash: string): string | null {
  if (!hash.startsWith('#key=')) return null;
  const raw = hash.slice('#key='.length);
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}

/**
 * Returns whether a host name or IP address, with or without brackets, is a loopback address: only programs on this
 * machine can reach it, and DNS cannot point it to another machine.
 */
export function isLoopback(host: string): boolean {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  return bare === 'localhost' || bare === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(bare);
}
