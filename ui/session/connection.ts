import { signal } from '@preact/signals';

/** State of the live connection; `idle` before there is one. */
export type ConnectionState = 'idle' | 'live' | 'lost';

export const connectionState = signal<ConnectionState>('idle');

/** Called by the SDK with the reason when a connection was lost, and with null when it is back. */
export function reportConnection(lost: Error | null): void {
  connectionState.value = lost ? 'lost' : 'live';
}
