import { WebSocket } from 'ws';
import { jsonObjectIn } from '../../base/json.ts';
import { INBOUND_FRAMES_OPEN } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { errorFrame, frameSubject, REFUSED, settle, TEXT } from './protocol.ts';

/** A WebSocket with the server's data about it. Fields on the socket take less memory than a map. */
export class RelaySocket extends WebSocket {
  caller!: Caller;
  /**
   * The relay with the caller's rights. Set for group members, which acknowledge messages, and for subscribers of
   * several channels (wildcards). Otherwise null.
   */
  relay: Relay | null = null;
  /** Base URL of the pointers in the messages to this socket. */
  base!: string;
  channel!: string;
  group: string | null = null;
  /**
   * The fan-out that sends messages to this socket. Null for group members and for subscribers of several channels
   * (wildcards).
   */
  source: { leave(socket: RelaySocket): void } | null = null;
  /** Sequence number of the newest log entry that this socket has got. */
  seq = 0;
  /** True if the client connected with `since`. Only such clients understand gap frames. */
  resumes = false;
  /** True if the next message must be preceded by a notice that messages are missing. */
  gap = false;
  /** True if the client has sent anything since the last ping. */
  alive = true;
  /** Pointers that were announced to this socket and not yet confirmed by a pong. */
  unconfirmed: string[] | null = null;
  /** Number of pointers that the pending ping will confirm. 0 if no ping is pending. */
  pinged = 0;
  /** Payload of the pending ping, by which its pong is recognized. */
  pingStamp = 0;
  /** Number of received frames whose replies are not sent yet. */
  pendingReplies = 0;
}

const PONG = Buffer.from('{"pong":1}');

/**
 * Handles a client's frame: `{"ping": 1}`, or the request of a group member, such as `{"ack": seq, "token": t}`.
 * Disconnects a client that does not read the replies, because they would fill the memory.
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

/** Counts a frame that needs a reply. With too many unread replies, closes the socket and returns false. */
function countFrame(socket: RelaySocket): boolean {
  if (socket.readyState !== socket.OPEN) return false;
  if (socket.pendingReplies++ < INBOUND_FRAMES_OPEN) return true;
  socket.close(REFUSED, 'too many frames without reading the replies');
  socket.pause();
  return false;
}
