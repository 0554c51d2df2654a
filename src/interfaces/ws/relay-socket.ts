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
  /** Frames that were taken in and whose answers have not been sent yet. */
  open = 0;
  /** A pong is waiting to be sent. */
  ponging = false;
  /** The newest ping that came since, and how many did. */
  owed: Buffer | null = null;
  pings = 0;
}

const PONG = Buffer.from('{"pong":1}');

/**
 * What a socket may say: `{"ack": seq, "token": t}`, the same with `nack` and `extend`, and `{"ping": 1}`. A client that goes on asking and
 * does not read the answers is cut off, or they would fill the memory.
 */
export function receive(socket: RelaySocket, data: Buffer, binary: boolean): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.open >= INBOUND_FRAMES_OPEN) {
    cutOff(socket);
    return;
  }
  socket.open++;
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

/** Nothing more is read from it. */
function cutOff(socket: RelaySocket): void {
  socket.close(REFUSED, 'too many frames without reading the answers');
  socket.pause();
}

/** Answers a ping. While a pong waits to be sent, only the newest ping is remembered (RFC 6455, 5.5.3), or pongs would fill the memory. */
export function answerPing(socket: RelaySocket, data: Buffer): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.ponging) {
    socket.owed = data;
    if (++socket.pings >= INBOUND_FRAMES_OPEN) cutOff(socket);
    return;
  }
  socket.ponging = true;
  socket.pong(data, false, () => {
    socket.ponging = false;
    const { owed } = socket;
    socket.owed = null;
    socket.pings = 0;
    if (owed) answerPing(socket, owed);
  });
}
