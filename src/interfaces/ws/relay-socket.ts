import { WebSocket } from 'ws';
import { jsonObjectIn } from '../../base/json.ts';
import { INBOUND_FRAMES_OPEN } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { errorFrame, REFUSED, TEXT } from './frames.ts';
import { aboutOf, settle } from './settlement.ts';

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
  /** Acknowledgements that are being written. */
  open = 0;
}

const PONG = Buffer.from('{"pong":1}');

/** What a socket may say: `{"ack": seq, "token": t}`, the same with `nack` and `extend`, and `{"ping": 1}`. */
export function receive(socket: RelaySocket, data: Buffer, binary: boolean): void {
  const frame = binary ? null : jsonObjectIn(data.toString());
  if (frame && 'ping' in frame) {
    socket.send(PONG, TEXT);
    return;
  }
  if (socket.open >= INBOUND_FRAMES_OPEN) {
    socket.close(REFUSED, 'too many acknowledgements at once');
    return;
  }
  socket.open++;
  settle(socket, frame)
    .then((answer) => Buffer.from(JSON.stringify(answer)))
    .catch((error) => errorFrame(error, aboutOf(frame)))
    .then((answer) => {
      socket.open--;
      if (socket.readyState === socket.OPEN) socket.send(answer, TEXT);
    });
}
