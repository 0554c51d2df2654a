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
  /** Seconds. */
  readonly ttl?: number;
  readonly max_pulls?: number;
  readonly visibility?: shapes.Visibility;
  /** The payload key, sealed to the channel's key, for subscribers that share it. Opaque to the relay. */
  readonly sealed_key?: string;
  /** Tells whether a key is the right one for an encrypted payload, without telling the key: 16 hexadecimal digits. */
  readonly key_check?: string;
}

export interface PushInput extends PushOptions {
  readonly body: BlobBody;
  /** Bytes of the body, where known ahead. */
  readonly size?: number;
  readonly idempotency_key?: string;
  /** Count the tokens and answer them. */
  readonly count?: boolean;
  /** Options that become known only once the body has been read: a JSON envelope may put them behind the data. */
  readonly late?: () => PushOptions;
}

/** The same of any server's pointer. Null where the server does not tell: that of the original tells the metadata alone. */
export type Inspected = Pick<shapes.Peeked, 'id' | 'metadata' | 'tokens' | 'key_check'> & {
  readonly [F in Exclude<keyof shapes.Peeked, 'id' | 'metadata' | 'tokens' | 'key_check'>]:
    | shapes.Peeked[F]
    | null;
};

export interface Pulled {
  readonly about: Inspected;
  readonly body: BlobBody;
  /** The bytes of `body` within the payload; `end` is exclusive. */
  readonly range?: ByteRange;
}

export interface PullOptions {
  readonly range?: ByteRange;
  /** Of one that counted, two repetitions by the same caller with the same key within five minutes are free. */
  readonly idempotency_key?: string;
  /** Whoever asks has no key: an encrypted payload is refused with `key_missing`, and that counts as no pull. */
  readonly keyless?: boolean;
}

/** For calls within a process; they do not travel. */
export interface LocalOptions {
  /** Fires when nobody waits any more: work on a part ends then. */
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
    // A task says where its result goes, and the relay itself may have to say something there.
    channels: ({ channel, metadata }) => [channel, channel ? text(metadata?.done_channel) : null],
    headers: { idempotency_key: 'Idempotency-Key' },
    query: ['count'],
    raw: ['channel', 'ttl', 'max_pulls', 'visibility'],
    byHand: 'both',
  }),
  pull: verb<(id: string, o?: PullOptions) => Promise<Pulled>, 'input' | 'output'>('pointers.pull')({
    ...pull,
    summary: 'Get a payload back, or only a part of it',
    headers: { keyless: 'Relay-Keyless' },
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
  /** What pulling it, or a part of it, would cost a model; consumes nothing. */
  cost: verb<(id: string, part?: PartRequest, o?: LocalOptions) => Promise<shapes.Cost>>('pointers.cost')({
    ...pull,
    summary: 'What a payload, or a part of it, would cost a model',
    args: ['id', 'part'],
    byHand: 'variant',
  }),
  peek: verb<(id: string) => Promise<Inspected>, 'output'>('pointers.peek')({
    summary: 'The metadata alone; size, expiry, tokens and the check of a key are in Relay-* headers',
    byLink: true,
    route: 'GET /peek/:id',
    byHand: 'both',
  }),
  /** The tenant's, newest first. A key that is bound to channels sees those on them, and its own. */
  list: verb<(o?: shapes.PointerQuery) => Promise<shapes.PointerPage>>('pointers.list')({
    summary: 'The pointers there are, newest first, without their payloads',
    route: 'GET /pointers',
    args: [],
    channels: ({ channel }) => [channel],
  }),
  /** `ttl`: their minimum lifetime in seconds, from now; by default as long as the plan allows. Never shortens a lifetime. */
  renew: verb<(ids: readonly string[], o?: { ttl?: number }) => Promise<shapes.Renewed>>('pointers.renew')({
    summary: 'Extend the life of pointers',
    scope: 'push',
    route: 'POST /pointers/renew',
    args: ['ids'],
    repeatable: true,
  }),
  /** Revokes it at once. Only its owner can. */
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
  /** Only whoever owns the pointer is told. */
  get: verb<(id: string) => Promise<shapes.ReceiptLadder>>('receipts.get')({
    summary: 'Who was told of a pointer, pulled it, did it: as far as there is evidence',
    route: 'GET /pull/:id/receipts',
    channels: ({ channel }) => [channel],
  }),
};
