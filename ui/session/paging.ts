import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Relay } from '../../src/contract/relay.ts';
import { noteRefusal, relay } from './session.ts';

/** Rows asked for at once. */
const PAGE_ROWS = 200;
/** Rows held at once: whoever scrolls through a hundred thousand lets go of those far above. */
export const HELD_ROWS = 2_000;

export interface Paged<T> {
  readonly rows: readonly T[];
  /** Rows before these were let go; `first` goes back to them. */
  readonly skipped: number;
  readonly pending: boolean;
  readonly error: unknown;
  /** There are none behind these. */
  readonly ended: boolean;
  readonly more: () => void;
  /** From the beginning. */
  readonly first: () => void;
}

export interface Page<T> {
  readonly rows: readonly T[];
  readonly next?: string;
}

interface Held<T> {
  readonly rows: readonly T[];
  readonly skipped: number;
  readonly next: string | undefined;
  readonly pending: boolean;
  readonly error: unknown;
  readonly ended: boolean;
}

/** A list that comes by cursor, page after page as somebody scrolls. */
export function usePages<T>(
  read: (relay: Relay, o: { after?: string; limit: number }) => Promise<Page<T>>,
  on: readonly unknown[],
): Paged<T> {
  const empty: Held<T> = {
    rows: [],
    skipped: 0,
    next: undefined,
    pending: true,
    error: undefined,
    ended: false,
  };
  const [held, setHeld] = useState(empty);
  const latest = useRef(held);
  latest.current = held;
  const turn = useRef(0);
  const reader = useRef(read);
  reader.current = read;
  const current = relay.value;

  const load = useCallback(
    (from: Held<T>) => {
      const mine = ++turn.current;
      setHeld({ ...from, pending: true, error: undefined });
      reader.current(current, { after: from.next, limit: PAGE_ROWS }).then(
        ({ rows, next }) => {
          if (turn.current !== mine) return;
          const all = [...from.rows, ...rows];
          const over = Math.max(0, all.length - HELD_ROWS);
          const kept = over > 0 ? all.slice(over) : all;
          const ended = next === undefined;
          setHeld({
            rows: kept,
            skipped: from.skipped + over,
            next,
            pending: false,
            error: undefined,
            ended,
          });
        },
        (error) => {
          if (turn.current !== mine) return;
          noteRefusal(error);
          setHeld({ ...from, pending: false, error });
        },
      );
    },
    [current, ...on],
  );
  const first = useCallback(() => load({ ...empty, rows: [] }), [load]);
  useEffect(() => {
    first();
    return () => {
      turn.current++;
    };
  }, [first]);
  const more = useCallback(() => {
    const { pending, ended } = latest.current;
    if (!pending && !ended) load(latest.current);
  }, [load]);
  return { ...held, more, first };
}
