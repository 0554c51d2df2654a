import { type Api, verbs } from './verb.ts';

/** Field names are those on the wire, so that local and remote are one type. */

export interface NewShare {
  readonly thread_id: string;
  /** For whoever looks at the list. */
  readonly name?: string;
  /** Seconds until it leads nowhere; a week by default. */
  readonly expires_in?: number;
}

/** A link that shows one thread to whoever has it. */
export interface ShareInfo {
  readonly id: string;
  readonly thread_id: string;
  readonly name: string;
  readonly created_by: string;
  /** The id of the key that made it, or of that key's successor: the link ends with it. Null for a link made before 0.3, which ends at its own time only. */
  readonly key_id: string | null;
  readonly created_at: string;
  readonly expires_at: string;
  readonly last_used_at: string | null;
}

/** The only time the link itself is shown. */
export interface CreatedShare extends ShareInfo {
  /** What is sent in place of an API key. */
  readonly token: string;
  /** The page behind the address of the relay; the token is in the fragment, which no server gets to see. */
  readonly path: string;
}

const verb = verbs({ scope: 'threads', args: [] });

export const shares = {
  create: verb<(input: NewShare) => Promise<CreatedShare>>('shares.create')({
    summary:
      'Make a link that shows one thread to whoever has it; the answer is the only place that ever shows it',
    route: 'POST /shares',
    status: 201,
  }),
  /** Those that work, newest first. */
  list: verb<(o?: { thread_id?: string }) => Promise<{ readonly shares: readonly ShareInfo[] }>>(
    'shares.list',
  )({
    summary: 'The share links there are, newest first, never themselves',
    route: 'GET /shares',
  }),
  /** It leads nowhere from now on, and whoever is looking is cut off. */
  revoke: verb<(id: string) => Promise<void>>('shares.revoke')({
    summary: 'Revoke a share link at once',
    route: 'DELETE /shares/:id',
    args: ['id'],
    status: 204,
    repeatable: true,
  }),
};

export interface SharesApi extends Api<typeof shares> {}
