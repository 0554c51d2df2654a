import { effect, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { isRelayError } from '../../src/base/errors.ts';
import { pause } from '../../src/base/pause.ts';
import type { Activity } from '../../src/contract/activity.ts';
import { connectionState, needsKey, relay } from './session.ts';

/** Recent activity, newest first. Pages request older entries from the relay. */
export const recentActivity = signal<readonly Activity[]>([]);
const RECENT_ENTRIES = 200;
/** Interval in ms at which new entries are delivered in a batch. */
const BATCH_MS = 250;
/** Minimum interval in ms between two requests of a page, no matter how much happens. */
const REFRESH_MS = 700;
const RETRY_MS = 3_000;

type Listener = (entries: readonly Activity[]) => void;
const listeners = new Set<Listener>();

/** Keeps one connection open for the live updates of all pages. Opens it again after each sign-in. */
export function followActivity(): void {
  effect(() => {
    const current = relay.value;
    if (needsKey.value) return;
    const closing = new AbortController();
    recentActivity.value = [];
    void watchActivity(current, closing.signal);
    return () => closing.abort();
  });
}

async function watchActivity(current: typeof relay.value, signal: AbortSignal): Promise<void> {
  const state = (now: 'live' | 'lost') => {
    if (!signal.aborted) connectionState.value = now;
  };
  let after: string | undefined;
  while (!signal.aborted) {
    try {
      for await (const entry of current.activity.watch({ after, signal, state })) {
        after = entry.id;
        enqueue(entry);
      }
    } catch (error) {
      if (signal.aborted) return;
      // Not an error: the key may not read activity. The pages then have no live updates.
      if (isRelayError(error) && [401, 403, 404].includes(error.status)) {
        connectionState.value = 'idle';
        return;
      }
      connectionState.value = 'lost';
    }
    await pause(RETRY_MS, signal);
  }
}

let batch: Activity[] = [];
let due = false;

function enqueue(entry: Activity): void {
  batch.push(entry);
  if (batch.length > RECENT_ENTRIES) batch.shift();
  if (due) return;
  due = true;
  setTimeout(deliverBatch, BATCH_MS);
}

function deliverBatch(): void {
  const entries = batch;
  batch = [];
  due = false;
  recentActivity.value = [...entries.toReversed(), ...recentActivity.value].slice(0, RECENT_ENTRIES);
  for (const listener of listeners) listener(entries);
}

/**
 * Calls `then` soon after an activity entry for which `concerns` returns true. Also calls it after a lost connection,
 * because entries may have been missed.
 */
export function useLive(concerns: ((entry: Activity) => boolean) | undefined, then: () => void): void {
  const now = useRef({ concerns, then });
  now.current = { concerns, then };
  useEffect(() => {
    let due: ReturnType<typeof setTimeout> | undefined;
    const listener: Listener = (entries) => {
      const { concerns } = now.current;
      if (!concerns) return;
      const touched = entries.some(
        (entry) => entry.kind === 'gap' || entry.kind === 'left_out' || concerns(entry),
      );
      if (!touched) return;
      due ??= setTimeout(() => {
        due = undefined;
        now.current.then();
      }, REFRESH_MS);
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      clearTimeout(due);
    };
  }, []);
}

/** Calls `then` at an interval while the page is visible. For values that change without an event. */
export function useEvery(ms: number | undefined, then: () => void): void {
  const now = useRef(then);
  now.current = then;
  useEffect(() => {
    if (ms === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') now.current();
    }, ms);
    return () => clearInterval(timer);
  }, [ms]);
}
