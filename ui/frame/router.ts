import { computed, signal } from '@preact/signals';

/** Current location without the fragment, because the fragment may contain a payload's key. */
const here = signal({ path: location.pathname, query: location.search });

export const path = computed(() => here.value.path);
export const query = computed(() => new URLSearchParams(here.value.query));

/**
 * Decoded segments of the path below `/ui`, such as `['threads', id]`. A pointer's own address gives
 * `['pull', id]`.
 */
export const segments = computed<readonly string[]>(() => {
  const found = /^(?:\/v1)?\/(?:ui(?:\/(.*))?|(pull\/.*))$/.exec(path.value);
  return (found?.[1] ?? found?.[2] ?? '').split('/').filter(Boolean).map(decodeSegment);
});

/** Returns an address of the dashboard with escaped parts. */
export function to(...parts: readonly string[]): string {
  return `/ui${parts.map((part) => `/${encodeURIComponent(part)}`).join('')}`;
}

/** Returns the id of the pointer that a URL names, or undefined. */
export function pointerId(url: string | undefined): string | undefined {
  return /[0-9a-f-]{36}/i.exec(url ?? '')?.[0];
}

export function navigate(href: string, o: { replace?: boolean } = {}): void {
  if (o.replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  updateLocation();
  if (!o.replace) {
    scrollTo(0, 0);
    document.getElementById('main')?.focus({ preventScroll: true });
  }
}

/** Sets a field in the query of the current address without a history entry. Null removes the field. */
export function setParam(name: string, value: string | null): void {
  const params = new URLSearchParams(location.search);
  if (value === null || value === '') params.delete(name);
  else params.set(name, value);
  navigate(location.pathname + (params.size > 0 ? `?${params}` : ''), { replace: true });
}

/**
 * Follows links within the dashboard without a reload. The browser itself handles clicks with a modifier
 * key, for example to open a tab.
 */
export function followLinks(): void {
  addEventListener('popstate', updateLocation);
  addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || link.target || link.download || link.origin !== location.origin) return;
    if (!/^\/ui(?:\/|$)/.test(link.pathname) || link.hash) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

function updateLocation(): void {
  here.value = { path: location.pathname, query: location.search };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
