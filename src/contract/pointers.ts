import type { Json, JsonObject } from '../base/json.ts';
import type { BlobBody, ByteRange } from '../kernel/blobs.ts';
import type * as shapes from '../schemas/pointers.ts';
import type { Part, PartRequest } from '../text/parts/part-request.ts';
import { type Api, verbs } from './verb.ts';

export { RUNGS } from '../base/enums.ts';
export type * from '../schemas/pointers.ts';

export type { Part, PartRequest };

export interface PushOptions {
  readonly content_type?: string;
  readonly channel?: string;
  readonly metadata?: JsonObject;
  /** Time to live in seconds. */
  readonly ttl?: number;
  readonly max_pulls?: number;
  readonly visibility?: shapes.Visibility;
  /**
   * The payload key, encrypted with the key of the channel. Subscribers of the channel can decrypt it; the relay
   * cannot.
   */
  readonly sealed_key?: string;
  /**
   * Check value of the payload key, 16 hexadecimal digits. It reveals a wrong key before a pull, but not the payload
   * key.
   */
  readonly key_check?: string;
}

export interface PushInput extends PushOptions {
  readonly body: BlobBody;
  /** Number of bytes of the body, if known in advance. */
  readonly size?: number;
  readonly idempotency_key?: string;
  /** True to count the tokens and return their number. */
  readonly count?: boolean;
  /** Maximum number of tokens of an excerpt. If it is set, the answer includes the excerpt. */
  readonly excerpt?: number;
  /** Returns options that are known only after the body has been read, because in JSON they may come after the data. */
  readonly late?: () => PushOptions;
}

/**
 * Like `Peeked`, for a pointer of any server. A field is null if the server does not report it. The original
 * ContextRelay server reports only metadata.
 */
export type Inspected = Pick<shapes.Peeked, KnownFields> & {
  readonly [F in Exclude<keyof shapes.Peeked, KnownFields>]: shapes.Peeked[F] | null;
};

type KnownFields = 'id' | 'metadata' | 'tokens' | 'key_check' | 'pulls_left' | 'agent' | 'handle';

export interface Pulled {
  readonly about: Inspected;
  readonly body: BlobBody;
  /** Position of `body` within the payload; `end` is exclusive. */
  readonly range?: ByteRange;
}

export interface PullOptions {
  readonly range?: ByteRange;
  /**
   * Idempotency key. If the caller repeats the pull with this key, two repetitions within five minutes are not counted.
   */
  readonly idempotency_key?: string;
  /**
   * True if the caller has no decryption key. An encrypted payload is then refused with `key_missing`, which does not
   * count as a pull.
   */
  readonly keyless?: boolean;
  /**
   * True for an outline, a count or a search of an encrypted payload. The first look reserves a pull for the caller:
   * further looks and the next pull are then not counted.
   */
  readonly look?: boolean;
}

/** Options of calls within one process, which are not sent to a server. */
export interface LocalOptions {
  /** Aborts when the caller no longer waits. The relay then stops extracting a part or counting tokens. */
  readonly signal?: AbortSignal;
}

const text = (value: Json | undefined) => (typeof value === 'string' ? value : null);

const pull = { byLink: true, route: 'GET /pull/:id' } as const;

const verb = verbs({ scope: 'pull', args: ['id'] });

export const pointers = {
  push: verb<(input: PushInput) => Promise<shapes.Pushed>, 'input'>('pointers.push')({
    summary: 'Store a payload and get a pointer to it',
    scope: 'push',
    route: 'POST /push',
    args: [],
    // The relay itself may announce a failure of a task on the channel `done_channel` in the metadata. So the sender
    // must have access to this channel too.
    channels: ({ channel, metadata }) => [channel, channel ? text(metadata?.done_channel) : null],
    headers: { idempotency_key: 'Idempotency-Key' },
    query: ['count', 'excerpt'],
    raw: ['channel', 'ttl', 'max_pulls', 'visibility'],
    byHand: 'both',
  }),
  pull: verb<(id: string, o?: PullOptions) => Promise<Pulled>, 'input' | 'output'>('pointers.pull')({
    ...pull,
    summary: 'Get a payload or a part of it',
    headers: { keyless: 'Relay-Keyless', look: 'Relay-Look' },
    byHand: 'both',
  }),
  part: verb<(id: string, part: PartRequest, o?: PullOptions & LocalOptions) => Promise<Part>>(
    'pointers.part',
  )({
    ...pull,
    summary: 'Get a part of a payload',
    args: ['id', 'part'],
    byHand: 'variant',
  }),
  /** Returns the number of tokens of a payload or of a part of it. This does not count as a pull. */
  cost: verb<(id: string, part?: PartRequest, o?: LocalOptions) => Promise<shapes.Cost>>('pointers.cost')({
    ...pull,
    summary: 'Count the tokens of a payload or of a part of it',
    args: ['id', 'part'],
    byHand: 'variant',
  }),
  peek: verb<(id: string) => Promise<Inspected>, 'output'>('pointers.peek')({
    summary:
      'Get only the metadata; size, expiry, tokens and the check value of the encryption key are in Relay-* headers',
    byLink: true,
    route: 'GET /peek/:id',
    byHand: 'both',
  }),
  /**
   * Lists pointers of the tenant, newest first. An API key with a channel prefix sees only pointers on its
   * channels and pointers that it created.
   */
  list: verb<(o?: shapes.PointerQuery) => Promise<shapes.PointerPage>>('pointers.list')({
    summary: 'List pointers, newest first, without their payloads',
    route: 'GET /pointers',
    args: [],
    channels: ({ channel }) => [channel],
  }),
  /** Sums the tokens of the stored command outputs that the caller may list. */
  outputs: verb<() => Promise<shapes.OutputReport>>('pointers.outputs')({
    summary: 'Sum the tokens of stored outputs by command: shown, kept back, pulled later, net',
    route: 'GET /pointers/outputs',
    args: [],
  }),
  /**
   * Extends the lifetime of pointers to at least `ttl` seconds from now, by default as long as the plan allows. Never
   * shortens a lifetime.
   */
  renew: verb<(ids: readonly string[], o?: { ttl?: number }) => Promise<shapes.Renewed>>('pointers.renew')({
    summary: 'Extend the lifetime of pointers',
    scope: 'push',
    route: 'POST /pointers/renew',
    args: ['ids'],
    repeatable: true,
  }),
  /** Deletes a pointer immediately, before its expiry. Only its owner may do this. */
  delete: verb<(id: string) => Promise<void>>('pointers.delete')({
    summary: 'Revoke a pointer at once',
    scope: 'push',
    route: 'DELETE /pull/:id',
    status: 204,
    repeatable: true,
  }),
};

export interface PointersApi extends Api<typeof pointers> {}

export const receipts = {
  /** Returns the receipts of a pointer. Only the owner of the pointer may read them. */
  get: verb<(id: string) => Promise<shapes.ReceiptLadder>>('receipts.get')({
    summary: 'Get the receipts of a pointer: who was notified, pulled it, acknowledged it or answered',
    route: 'GET /pull/:id/receipts',
    channels: ({ channel }) => [channel],
  }),
};
