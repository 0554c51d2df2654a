import { signal } from '@preact/signals';

/** How the live connection is: `idle` before there is one. */
export type ConnectionState = 'idle' | 'live' | 'lost';

export const connectionState = signal<ConnectionState>('idle');

/** Told by the SDK: with the reason when a connection was lost, with null when it is back. */
export function reportConnection(lost: Error | null): void {
  connectionState.value = lost ? 'lost' : 'live';
}
