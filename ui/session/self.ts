import { effect, signal } from '@preact/signals';
import type { Self } from '../../src/contract/keys.ts';
import { needsKey, noteRefusal, relay } from './session.ts';

/** Who the relay takes us for; null until it has said so. */
export const self = signal<Self | null>(null);

/** Asks at the beginning, and again for each key. */
export function learnSelf(): void {
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
        if (!over) noteRefusal(error);
      },
    );
    return () => {
      over = true;
    };
  });
}

/** Whether to offer something; the relay decides all the same. */
export function may(scope: Self['scopes'][number]): boolean {
  return self.value === null || self.value.scopes.includes(scope);
}
