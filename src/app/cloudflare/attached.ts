import type { WebSocket as PlatformSocket } from '@cloudflare/workers-types';
import type { Caller } from '../../contract/caller.ts';
import type { Start } from '../../domain/channels/reader.ts';

/** What is known of a socket; kept with it while the object sleeps. */
export interface Attached extends Start {
  readonly id: string;
  readonly stream: string;
  readonly caller: Caller;
  readonly base: string;
  readonly channel: string;
  /** Null for a reader. */
  readonly group: string | null;
  readonly since?: string | number;
  readonly prefetch?: number;
  /** It asked to resume, so it understands being told of a gap. */
  readonly resumes: boolean;
}

/** What is known of sockets that were used since the object woke up: reading it from a socket takes a while. */
const known = new WeakMap<PlatformSocket, { attached: Attached; readonly fixed: string }>();

export function attachedTo(socket: PlatformSocket): Attached {
  return knownOf(socket).attached;
}

function knownOf(socket: PlatformSocket) {
  const found = known.get(socket);
  if (found) return found;
  const [fixed, start] = socket.deserializeAttachment() as [string, Start];
  const read = { attached: { ...JSON.parse(fixed), ...start }, fixed };
  known.set(socket, read);
  return read;
}

export function attach(socket: PlatformSocket, attached: Attached): void {
  const { after, gap, lenient, ...about } = attached;
  const fixed = JSON.stringify(about);
  known.set(socket, { attached, fixed });
  socket.serializeAttachment([fixed, { after, gap, lenient }]);
}

/** How far a reader has been served; what does not change is a text, which was written once. */
export function moveOn(socket: PlatformSocket, start: Start): void {
  const at = knownOf(socket);
  at.attached = { ...at.attached, ...start };
  socket.serializeAttachment([at.fixed, start]);
}
