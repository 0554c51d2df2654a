import { effect, signal } from '@preact/signals';
import type { Self } from '../../src/contract/keys.ts';
import { handleUnauthorized, needsKey, relay } from './session.ts';

/** The caller as the relay sees it; null until the relay has answered. */
export const self = signal<Self | null>(null);

/** Loads `self` now and after each change of the key. */
export function loadSelf(): void {
  effect(() => {
    const current = relay.value;
    if (needsKey.value) {
      self.value = null;
      return;
    }
    let over = false;
    current.keys.self().then(
      (found) => {
        if (!over) self.value = found;
      },
      (error) => {
        if (!over) handleUnauthorized(error);
      },
    );
    return () => {
      over = true;
    };
  });
}

/**
 * Returns whether the caller has a scope, to decide which actions are offered. Returns true until the relay has
 * answered. The relay checks each request anyway.
 */
export function hasScope(scope: Self['scopes'][number]): boolean {
  return self.value === null || self.value.scopes.includes(scope);
}
