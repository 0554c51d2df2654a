import type { JsonObject } from '../base/json.ts';
import type { Preview } from './threads/artifacts.ts';
import type { SearchHit } from './threads/search.ts';
import { type Api, verbs } from './verb.ts';

/** What a caller is told of one. */
export interface CapabilityInfo {
  readonly name: string;
  readonly description: string;
  readonly args_schema: JsonObject;
  readonly cacheable: boolean;
  readonly cache_ttl_sec: number;
  /** It is there and has to be allowed first; absent where it can be used. */
  readonly enabled?: false;
}

export interface InvokeInput {
  readonly capability: string;
  readonly thread_id: string;
  readonly args?: JsonObject;
  readonly idempotency_key?: string;
}

/** The preview of a result; that of `retrieval.search` has in it what was found as well. */
export interface ResultPreview extends Preview, Partial<Found> {}

export interface Found {
  readonly count: number;
  readonly query: string;
  readonly results: readonly SearchHit[];
}

export interface InvokeAnswer {
  readonly capability: string;
  readonly preview: ResultPreview;
  readonly artifact_ref: string;
  readonly cache_hit: boolean;
  readonly cache_key: string;
  readonly duration_ms: number;
}

const verb = verbs({ scope: 'threads', args: [] });

export const capabilities = {
  list: verb<() => Promise<{ capabilities: CapabilityInfo[] }>>('capabilities.list')({
    summary: 'What a thread can have done',
    route: 'GET /cap/list',
  }),
  invoke: verb<(input: InvokeInput) => Promise<InvokeAnswer>>('capabilities.invoke')({
    summary: 'Have a capability do its work; the result is an artifact',
    route: 'POST /cap/invoke',
    headers: { idempotency_key: 'Idempotency-Key' },
  }),
};

/** Capabilities as one caller sees them. */
export interface CapabilitiesApi extends Api<typeof capabilities> {}
