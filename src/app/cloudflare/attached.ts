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
  const text = socket.deserializeAttachment() as string;
  const end = text.indexOf('\n');
  const fixed = text.slice(end + 1);
  const read = { attached: { ...JSON.parse(fixed), ...JSON.parse(text.slice(0, end)) }, fixed };
  known.set(socket, read);
  return read;
}

export function attach(socket: PlatformSocket, attached: Attached): void {
  const { after, gap, lenient, ...about } = attached;
  known.set(socket, { attached, fixed: JSON.stringify(about) });
  moveOn(socket, { after, gap, lenient });
}

/** How far a reader has been served: a line of its own, before what does not change, which is written as text once. */
export function moveOn(socket: PlatformSocket, { after, gap, lenient }: Start): void {
  const at = knownOf(socket);
  if (at.attached.after !== after) at.attached = { ...at.attached, after, gap, lenient };
  socket.serializeAttachment(`{"after":${after},"gap":${gap},"lenient":${lenient}}\n${at.fixed}`);
}
