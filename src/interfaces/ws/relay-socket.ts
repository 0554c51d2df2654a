import { WebSocket } from 'ws';
import { jsonObjectIn } from '../../base/json.ts';
import { INBOUND_FRAMES_OPEN } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { errorFrame, frameSubject, REFUSED, settle, TEXT } from './protocol.ts';

/**
 * A WebSocket with the data that the server keeps about it. To save memory, the data is stored on the socket
 * itself and not in a map.
 */
export class RelaySocket extends WebSocket {
  caller!: Caller;
  /**
   * The relay with the rights of the caller. Set only for group members, because they acknowledge messages.
   */
  relay: Relay | null = null;
  /** Base URL of the pointers in the messages to this socket. */
  base!: string;
  channel!: string;
  group: string | null = null;
  /** The fan-out that sends messages to this socket. Null for group members. */
  source: { leave(socket: RelaySocket): void } | null = null;
  /** Sequence number of the newest log entry that was handled for this socket. */
  seq = 0;
  /** True if the client connected with `since`. Only such clients understand gap frames. */
  resumes = false;
  /** True if the client must be told before the next message that messages are missing. */
  gap = false;
  /** True if the client has sent anything since the last ping. */
  alive = true;
  /** Pointers that were announced to this socket and that no pong has confirmed yet. */
  unconfirmed: string[] | null = null;
  /** Number of unconfirmed pointers that the pending ping will confirm. 0 if no ping is pending. */
  pinged = 0;
  /** Payload of the pending ping. It is used to recognize its pong. */
  pingStamp = 0;
  /** Number of received frames whose replies have not been sent yet. */
  pendingReplies = 0;
}

const PONG = Buffer.from('{"pong":1}');

/**
 * Handles a frame from a client: `{"ack": seq, "token": t}`, the same with `nack` or `extend`, or `{"ping":
 * 1}`. Disconnects a client that sends frames without reading the replies, because the unread replies would
 * fill the memory.
 */
export function receive(socket: RelaySocket, data: Buffer, binary: boolean): void {
  if (!countFrame(socket)) return;
  const answer = (text: Buffer) => {
    if (socket.readyState === socket.OPEN) socket.send(text, TEXT, () => socket.pendingReplies--);
  };
  const frame = binary ? null : jsonObjectIn(data.toString());
  if (frame && 'ping' in frame) {
    answer(PONG);
    return;
  }
  settle(socket, frame)
    .then((settled) => Buffer.from(JSON.stringify(settled)))
    .catch((error) => errorFrame(error, frameSubject(frame)))
    .then(answer);
}

/** Answers a WebSocket ping frame. */
export function answerPing(socket: RelaySocket, data: Buffer): void {
  if (countFrame(socket)) socket.pong(data, false, () => socket.pendingReplies--);
}

/**
 * Counts a frame that needs a reply. If too many replies are unread, it closes the socket and returns false.
 */
function countFrame(socket: RelaySocket): boolean {
  if (socket.readyState !== socket.OPEN) return false;
  if (socket.pendingReplies++ < INBOUND_FRAMES_OPEN) return true;
  socket.close(REFUSED, 'too many frames without reading the replies');
  socket.pause();
  return false;
}
