import type { Swept, Usage } from '../../kernel/engine.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';

/** What the program offers to its commands; the app puts it together. */
export interface Host {
  readonly version: string;
  /** Where the local store is, whether or not it exists yet. */
  readonly home: string;
  /** The relay that commands work on: the local store, or a server named by --url or CONTEXTRELAY_URL. */
  openClient(): Promise<OpenClient>;
  /** Housekeeping of the local store. */
  openStore(): Promise<LocalStore>;
  serve(o: ServeOptions): Promise<Serving>;
}

export interface OpenClient extends AsyncDisposable {
  readonly client: ContextRelay;
  /** The server's address; null for the local store. */
  readonly remote: string | null;
}

export interface LocalStore extends AsyncDisposable {
  sweep(): Promise<Swept>;
  usage(): Promise<Usage>;
}

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
}

export interface Serving {
  /** `http://127.0.0.1:7474`, with the port that was really taken. */
  readonly url: string;
  /** Resolves once it has been told to stop and every accepted request is answered. */
  readonly stopped: Promise<void>;
  stop(): void;
}
