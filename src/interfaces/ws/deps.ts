import type { Caller } from '../../contract/caller.ts';
import type { House } from '../../domain/house.ts';

/** What the WebSocket interface is given by the app. */
export interface SocketDeps {
  readonly house: House;
  /** Where pointers say they can be reached; null: where the socket came in. */
  readonly publicUrl: string | null;
  /** Throws for a request that a foreign web page made. */
  guard(request: Request): void;
  /** Who is asking; throws `unauthorized`. */
  authenticate(request: Request): Caller | Promise<Caller>;
  log(event: {
    readonly level: 'warn' | 'error';
    readonly event: string;
    readonly [field: string]: unknown;
  }): void;
  readonly limits?: Partial<SocketLimits>;
}

export interface SocketLimits {
  readonly pingEveryMs: number;
  /** What may wait for a reader that does not keep up. */
  readonly slowReaderBytes: number;
}
