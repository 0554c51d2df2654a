import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Activity } from '../../src/contract/activity.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { useLive } from './live.ts';
import { handleUnauthorized, relay } from './session.ts';

/** Number of rows per request. */
const PAGE_ROWS = 200;
/** Maximum number of rows in memory. When the person scrolls further, rows far above are dropped. */
export const MAX_ROWS = 2_000;

export interface Paged<T> {
  readonly rows: readonly T[];
  /** Number of rows above `rows` that were dropped from memory. Only `first` loads them again. */
  readonly skipped: number;
  readonly pending: boolean;
  readonly error: unknown;
  /** True if there are no further rows. */
  readonly ended: boolean;
  readonly more: () => void;
  /** Loads the list again from its first page. The old rows stay until the answer arrives. */
  readonly first: () => void;
}

interface Options<T> {
  /** Filter that the relay does not support, so it is applied here. */
  readonly matches?: (row: T) => boolean;
  /**
   * Returns whether the matching rows end before this row. The list is ordered by time, so no later row can
   * match.
   */
  readonly isPast?: (row: T) => boolean;
  /**
   * Returns whether the list is loaded again after this entry. If the person has scrolled to further pages,
   * it is not loaded again.
   */
  readonly live?: (entry: Activity) => boolean;
}

interface PagingState<T> {
  readonly rows: readonly T[];
  readonly skipped: number;
  readonly next: string | undefined;
  readonly pending: boolean;
  readonly error: unknown;
  readonly ended: boolean;
}

/**
 * A paged list that loads further pages on scrolling. `name` is the field of the answer that contains the
 * rows.
 */
export function usePages<K extends string, T>(
  name: K,
  read: (
    relay: Relay,
    page: { after?: string; limit: number },
  ) => Promise<{ readonly [field in K]: readonly T[] } & { readonly next?: string }>,
  on: readonly unknown[],
  options: Options<T> = {},
): Paged<T> {
  const empty: PagingState<T> = {
    rows: [],
    skipped: 0,
    next: undefined,
    pending: true,
    error: undefined,
    ended: false,
  };
  const [state, setState] = useState(empty);
  const latest = useRef(state);
  const latestRequest = useRef(0);
  const reader = useRef({ read, options });
  reader.current = { read, options };
  const current = relay.value;

  const load = useCallback(
    (from: PagingState<T>, base = from) => {
      const request = ++latestRequest.current;
      const set = (now: PagingState<T>) => {
        // Set `latest` now, not at the next render, so that a second call of `more` sees that a page is loading.
        latest.current = now;
        setState(now);
      };
      set({ ...base, pending: true, error: undefined });
      const { read, options } = reader.current;
      read(current, { after: from.next, limit: PAGE_ROWS }).then(
        ({ next, ...page }) => {
          if (latestRequest.current !== request) return;
          const listed = (page as unknown as { [field in K]: readonly T[] })[name];
          const found = options.matches ? listed.filter(options.matches) : listed;
          const last = listed.at(-1);
          const ended = next === undefined || (last !== undefined && options.isPast?.(last) === true);
          // If the filter leaves nothing of a page, load the next one. Otherwise the list would seem to end
          // here.
          if (found.length === 0 && !ended) return load({ ...from, next }, base);
          const all = [...from.rows, ...found];
          const over = Math.max(0, all.length - MAX_ROWS);
          set({
            rows: over > 0 ? all.slice(over) : all,
            skipped: from.skipped + over,
            next,
            pending: false,
            error: undefined,
            ended,
          });
        },
        (error) => {
          if (latestRequest.current !== request) return;
          handleUnauthorized(error);
          set({ ...base, pending: false, error });
        },
      );
    },
    [current, ...on],
  );
  const first = useCallback(() => load(empty, latest.current), [load]);
  useEffect(() => {
    load(empty);
    return () => {
      latestRequest.current++;
    };
  }, [load]);
  const more = useCallback(() => {
    const { pending, ended } = latest.current;
    if (!pending && !ended) load(latest.current);
  }, [load]);
  useLive(
    options.live,
    () => latest.current.skipped === 0 && latest.current.rows.length <= PAGE_ROWS && first(),
  );
  return { ...state, more, first };
}
