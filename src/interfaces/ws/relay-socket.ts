import { WebSocket } from 'ws';
import { jsonObjectIn } from '../../base/json.ts';
import { INBOUND_FRAMES_OPEN } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { aboutOf, errorFrame, REFUSED, settle, TEXT } from './protocol.ts';

/** What the server knows of a socket. On the socket itself: at thousands of sockets every further object counts. */
export class RelaySocket extends WebSocket {
  caller!: Caller;
  /** The relay as this caller sees it: for members of a group, who acknowledge. */
  relay: Relay | null = null;
  /** Where pointers are said to be reachable. */
  base!: string;
  channel!: string;
  group: string | null = null;
  /** Where a reader gets its messages from. */
  source: { leave(socket: RelaySocket): void } | null = null;
  /** The newest message sent. */
  seq = 0;
  /** It asked to resume, so it understands being told of a gap. */
  resumes = false;
  /** A gap that is still to be told. */
  gap = false;
  /** It has been heard of since the last ping. */
  alive = true;
  /** Pointers it was told of and has not answered for. */
  unconfirmed: string[] | null = null;
  /** How many of them were sent before the ping that is under way; 0 where there is none. */
  asked = 0;
  /** Marks that ping. */
  stamp = 0;
  /** Frames that were taken in and whose answers have not been sent yet. */
  open = 0;
}

const PONG = Buffer.from('{"pong":1}');

/**
 * What a socket may say: `{"ack": seq, "token": t}`, the same with `nack` and `extend`, and `{"ping": 1}`. A client that goes on asking and
 * does not read the answers is cut off, or they would fill the memory.
 */
export function receive(socket: RelaySocket, data: Buffer, binary: boolean): void {
  if (!begins(socket)) return;
  const answer = (text: Buffer) => {
    if (socket.readyState === socket.OPEN) socket.send(text, TEXT, () => socket.open--);
  };
  const frame = binary ? null : jsonObjectIn(data.toString());
  if (frame && 'ping' in frame) {
    answer(PONG);
    return;
  }
  settle(socket, frame)
    .then((settled) => Buffer.from(JSON.stringify(settled)))
    .catch((error) => errorFrame(error, aboutOf(frame)))
    .then(answer);
}

/** Answers a ping of the protocol itself. */
export function answerPing(socket: RelaySocket, data: Buffer): void {
  if (begins(socket)) socket.pong(data, false, () => socket.open--);
}

/** Whether a frame is answered: counts it, and reads no more from a client that leaves too many answers unread. */
function begins(socket: RelaySocket): boolean {
  if (socket.readyState !== socket.OPEN) return false;
  if (socket.open++ < INBOUND_FRAMES_OPEN) return true;
  socket.close(REFUSED, 'too many frames without reading the answers');
  socket.pause();
  return false;
}
