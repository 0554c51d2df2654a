import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Activity } from '../../src/contract/activity.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { useEvery, useLive } from './live.ts';
import { handleUnauthorized, relay } from './session.ts';

/**
 * An answer of the relay, or its error. While a new answer about the same object is loading, the previous answer stays.
 */
export interface Asked<T> {
  readonly value: T | undefined;
  readonly error: unknown;
  readonly pending: boolean;
  /** Sends the request again. */
  readonly again: () => void;
}

interface Refresh {
  /** Interval in ms at which the request is sent again. */
  readonly every?: number;
  /** Returns whether the request is sent again after this activity entry. */
  readonly live?: (entry: Activity) => boolean;
}

/**
 * Sends a request when the page is displayed, when a value of `on` changes, as `refresh` says, and on demand. The
 * answer to an earlier request is ignored.
 */
export function useAsked<T>(
  ask: (relay: Relay) => Promise<T>,
  on: readonly unknown[],
  refresh: Refresh = {},
): Asked<T> {
  const [answer, setAnswer] = useState<Omit<Asked<T>, 'again'>>({
    value: undefined,
    error: undefined,
    pending: true,
  });
  const latestRequest = useRef(0);
  const latestAsk = useRef(ask);
  latestAsk.current = ask;
  const about = useRef<string | null>(null);
  const current = relay.value;
  const run = useCallback(() => {
    const request = ++latestRequest.current;
    // If the request is about another object, drop the previous answer. Otherwise it would appear under the
    // new title.
    const same = about.current === JSON.stringify(on);
    about.current = JSON.stringify(on);
    setAnswer((before) => ({ value: same ? before.value : undefined, error: undefined, pending: true }));
    latestAsk.current(current).then(
      (value) => latestRequest.current === request && setAnswer({ value, error: undefined, pending: false }),
      (error) => {
        if (latestRequest.current !== request) return;
        handleUnauthorized(error);
        setAnswer((before) => ({ value: before.value, error, pending: false }));
      },
    );
  }, [current, ...on]);
  useEffect(() => {
    run();
    return () => {
      latestRequest.current++;
    };
  }, [run]);
  useEvery(refresh.every, run);
  useLive(refresh.live, run);
  return { ...answer, again: run };
}

/** An action of the user, with its result. It cannot be started again while it is running. */
export function useAction<A extends unknown[]>(act: (relay: Relay, ...args: A) => Promise<unknown>) {
  const [state, setState] = useState<{ busy: boolean; error: unknown; done: boolean }>({
    busy: false,
    error: undefined,
    done: false,
  });
  const busy = useRef(false);
  const run = async (...args: A): Promise<boolean> => {
    if (busy.current) return false;
    busy.current = true;
    setState({ busy: true, error: undefined, done: false });
    try {
      await act(relay.value, ...args);
      setState({ busy: false, error: undefined, done: true });
      return true;
    } catch (error) {
      handleUnauthorized(error);
      setState({ busy: false, error, done: false });
      return false;
    } finally {
      busy.current = false;
    }
  };
  return { ...state, run };
}
