/** Who is asking. Every domain call takes one, and every key and stream is derived from its tenant. */
export interface Caller {
  readonly tenant: string;
  /** The API key's id; `local` where there are no keys. */
  readonly keyId: string;
  /** Set by the server and shown to others as `from`. */
  readonly name: string;
  readonly scopes: readonly Scope[];
}

export const SCOPES = ['push', 'pull', 'subscribe', 'threads', 'tasks', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Whoever sits at the machine, in open mode. */
export const LOCAL_CALLER: Caller = { tenant: 'local', keyId: 'local', name: 'local', scopes: SCOPES };
