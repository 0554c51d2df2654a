import { WebSocket } from 'ws';
import type { Caller } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { receive } from './inbound.ts';

/** What the server does for all of its sockets. */
export interface SocketHost {
  answered(socket: RelaySocket, data: Buffer): void;
  left(socket: RelaySocket): void;
}

/**
 * What the server knows of a socket. On the socket itself, with listeners that all of them share: at thousands of
 * sockets every further object counts.
 */
export class RelaySocket extends WebSocket {
  host!: SocketHost;
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
  slot = 0;
  /** Pointers it was told of and has not answered for. */
  unconfirmed: string[] | null = null;
  /** How many of them were sent before the ping that is under way; 0 where there is none. */
  asked = 0;
  /** Marks that ping. */
  stamp = 0;
  /** Acknowledgements that are being written. */
  open = 0;

  /** Called once, when all the above is known. */
  listen(): void {
    // A frame that is too large, or none at all: the socket is closed with the code that says so.
    this.on('error', ignore);
    this.on('message', onMessage as never);
    this.on('pong', onPong as never);
    this.on('close', onClose as never);
  }
}

function ignore(): void {}

function onMessage(this: RelaySocket, data: Buffer, binary: boolean): void {
  this.alive = true;
  receive(this, data, binary);
}

function onPong(this: RelaySocket, data: Buffer): void {
  this.alive = true;
  this.host.answered(this, data);
}

function onClose(this: RelaySocket): void {
  this.host.left(this);
}
