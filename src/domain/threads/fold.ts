import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey } from '../../base/ids.ts';
import type { Json } from '../../base/json.ts';
import { RECENT_PROMPTS, THREAD_KEYS } from '../../base/limits.ts';
import type { WorkMeter } from '../../base/work-meter.ts';
import type { Metrics, PromptFigures } from '../../contract/threads.ts';
import { fromJson } from '../records.ts';
import {
  type CountedArtifact,
  eventBytes,
  eventStorageBytes,
  makesVersion,
  type StoredEvent,
} from './event.ts';
import { idOf, type ThreadRoot } from './keys.ts';
import { firstState, isoTime, patchState, replayPatch, type SizedState } from './state.ts';

/**
 * The state of a thread, its totals and its position in the log, after one log entry. All of this is computed from the
 * entries of the log up to and including this entry. The state object is never changed in place; other fields of the
 * head may be.
 */
export interface Head extends SizedState {
  readonly id: string;
  readonly root: ThreadRoot;
  /** Sequence number of the last entry; 0 for an empty log. */
  readonly seq: number;
  /** Number of events, which is also the id of the last event. */
  readonly count: number;
  readonly version: number;
  readonly totals: Totals;
  /** References of all artifacts, oldest first. */
  readonly refs: readonly string[];
  /** Uses of idempotency keys, oldest first: the request and its result for each key. */
  readonly keys: ReadonlyMap<string, KeyUse>;
  /** Number of log bytes since the last snapshot. */
  readonly logBytes: number;
}

/** The request that used an idempotency key, and its result. */
export interface KeyUse {
  readonly request: string;
  readonly version: number;
  readonly ref?: string;
  readonly at: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
export type MutableHead = Mutable<Omit<Head, 'refs' | 'keys'>> & {
  refs: string[];
  keys: Map<string, KeyUse>;
};

/** Returns the head of an empty log. */
export function emptyHead(root: ThreadRoot): MutableHead {
  const id = idOf(root);
  return {
    id,
    root,
    seq: 0,
    count: 0,
    version: 0,
    ...firstState(id, isoTime(0), metricsOf(EMPTY_TOTALS)),
    totals: EMPTY_TOTALS,
    refs: [],
    keys: new Map(),
    logBytes: 0,
  };
}

/**
 * Applies one event to the head, in place. `ready` is the state after the event, if the caller has already
 * computed it.
 */
export function advance(
  head: MutableHead,
  seq: number,
  event: StoredEvent,
  { ready, meter }: { ready?: SizedState; meter?: WorkMeter } = {},
): void {
  const payload = event.payload as { [field: string]: Json | undefined };
  // Do not assign the new totals to the head yet. `stateAfter` expects the totals before the event and adds the event
  // to them.
  const totals = addToTotals(head.totals, event);
  if (makesVersion(event)) {
    const version = head.version + 1;
    if (payload.version !== version) {
      throw new RelayError('store_damaged', {
        what: `the log of thread ${head.id} has version ${String(payload.version)} directly after version ${head.version}`,
        hint: 'Restore a backup with relay restore.',
      });
    }
    const after = ready ?? stateAfter(head, event, { apply: replayPatch, meter });
    head.state = after.state;
    head.bytes = after.bytes;
    head.version = version;
    if (event.type === 'artifact.created') head.refs.push(payload.ref as string);
  }
  for (const { ref } of event.legacy?.artifacts ?? []) head.refs.push(ref);
  const bytes = eventBytes(event);
  head.totals = { ...totals, stored: totals.stored + eventStorageBytes(event, bytes) };
  if (event.key !== undefined) {
    const { key, request = '', at } = event;
    const ref = typeof payload.ref === 'string' ? { ref: payload.ref } : {};
    head.keys.delete(key);
    head.keys.set(key, { request, version: head.version, at, ...ref });
    if (head.keys.size > THREAD_KEYS) head.keys.delete(head.keys.keys().next().value!);
  }
  head.seq = seq;
  head.count += 1;
  head.logBytes += bytes;
}

/**
 * Returns the state after an event. `apply` is `patchState` for new events; it checks schema and size and
 * throws. For events that are already in the log it is `replayPatch`, which skips these checks.
 */
export function stateAfter(
  head: Head,
  event: StoredEvent,
  { apply = patchState, meter }: { apply?: typeof patchState; meter?: WorkMeter } = {},
): SizedState {
  if (!makesVersion(event)) return head;
  const { payload, legacy } = event;
  const at = legacy?.stamp?.updated_at ?? isoTime(event.at);
  const metrics = legacy?.stamp?.metrics ?? metricsOf(addToTotals(head.totals, event));
  if (event.type === 'thread.created') return firstState(head.id, at, metrics);
  const { ref, type, name } = payload;
  const link = { op: 'add', path: '/artifacts/-', value: { ref, type, name } };
  const ops = event.type === 'artifact.created' ? [link] : payload.ops;
  const by = legacy ? null : String(payload.by ?? '');
  return apply(head, ops, { version: head.version + 1, at, by, metrics }, meter);
}

/** Totals of a thread without events. */
export const EMPTY_TOTALS = {
  artifacts: 0,
  /** Number of artifacts made by a capability. */
  results: 0,
  /** Tokens of the contents of all artifacts, without reports. */
  naive: 0,
  /** Tokens of the previews of all artifacts, without reports. */
  previews: 0,
  pulls: 0,
  pull_tokens: 0,
  cache_hits: 0,
  cache_misses: 0,
  session_cache_hits: 0,
  hops: 0,
  /** Billed input tokens, as reported by providers. The relay's own token counts are in other fields. */
  billed_input: 0,
  /** Billed output tokens, as reported by providers. */
  billed_output: 0,
  /** Billed input tokens that the provider read from its cache. */
  billed_cached_input: 0,
  /** Number of prompts and hand-offs. */
  prompts: 0,
  /** Tokens of the texts of prompts and hand-offs. */
  prompt_tokens: 0,
  /** Tokens that prompts and hand-offs would have had if everything had been pasted. */
  pasted_tokens: 0,
  /** Number of tool calls that models made while they answered. */
  tool_calls: 0,
  /** Tokens that tool calls returned to models. */
  tool_call_tokens: 0,
  /** The newest prompts, newest first. */
  recent: [] as readonly PromptFigures[],
  tokenizer: null as string | null,
  /** True if at least one of these figures is an estimate. */
  estimated: false,
  /** Bytes stored for the thread: events, and contents and previews of artifacts. */
  stored: 0,
};

export type Totals = Readonly<typeof EMPTY_TOTALS>;

function addToTotals(before: Totals, event: StoredEvent): Totals {
  const { type, payload, legacy } = event;
  let totals = before;
  const report = type === 'report.generated';
  for (const artifact of legacy?.artifacts ?? []) totals = addArtifact(totals, { ...artifact, report });
  switch (type) {
    case 'artifact.created':
      return legacy ? totals : addArtifact(totals, fromJson<CountedArtifact>(payload));
    case 'artifact.pulled':
      if (payload.counted === false) return totals;
      return {
        ...totals,
        pulls: totals.pulls + 1,
        pull_tokens: totals.pull_tokens + countOrZero(payload.tokens),
      };
    case 'capability.invoked':
      // Events of a Go relay have no field `cacheable`, because a Go relay cached all results.
      if (payload.cacheable !== true && !legacy) return totals;
      return payload.cache_hit === true
        ? { ...totals, cache_hits: totals.cache_hits + 1 }
        : { ...totals, cache_misses: totals.cache_misses + 1 };
    case 'message.sent':
      return { ...totals, hops: totals.hops + 1 };
    default:
      return PROMPT_TYPES.has(type) ? addPrompt(totals, event) : totals;
  }
}

function addArtifact(totals: Totals, { tokens, capability, report }: CountedArtifact): Totals {
  if (report) return { ...totals, artifacts: totals.artifacts + 1 };
  return {
    ...totals,
    artifacts: totals.artifacts + 1,
    results: totals.results + (capability === undefined ? 0 : 1),
    naive: totals.naive + tokens.content,
    previews: totals.previews + tokens.preview,
    tokenizer: tokens.tokenizer,
    estimated: totals.estimated || tokens.estimated,
  };
}

/**
 * Returns the token figures of a prompt event. Returns null for other events, and for prompts without the
 * tokens of the text or without the pasting cost.
 */
export function promptFigures({ type, payload, at }: StoredEvent): PromptFigures | null {
  if (!PROMPT_TYPES.has(type)) return null;
  if (typeof payload.prompt_tokens !== 'number' || typeof payload.pasted_tokens !== 'number') return null;
  const shown_tokens = countOrZero(payload.prompt_tokens) + countOrZero(payload.tool_call_tokens);
  const pasted_tokens = countOrZero(payload.pasted_tokens);
  return {
    at: isoTime(at),
    kind: type.slice('prompt.'.length) as PromptFigures['kind'],
    by: String(payload.model ?? payload.by ?? ''),
    pasted_tokens,
    shown_tokens,
    avoided_tokens: pasted_tokens - shown_tokens,
  };
}

const PROMPT_TYPES: ReadonlySet<string> = new Set([
  'prompt.answered',
  'prompt.rendered',
  'prompt.handed_over',
]);

/**
 * Adds a prompt event to the totals. If the event lacks the tokens of the text or the pasting cost, only its billed
 * tokens and its session cache hit are added. Events of cached answers lack both; events of earlier versions may lack one.
 */
function addPrompt(totals: Totals, event: StoredEvent): Totals {
  const { payload } = event;
  const billed: Totals = {
    ...totals,
    session_cache_hits: totals.session_cache_hits + (payload.session_cache_hit === true ? 1 : 0),
    billed_input: totals.billed_input + countOrZero(payload.billed_input),
    billed_output: totals.billed_output + countOrZero(payload.billed_output),
    billed_cached_input: totals.billed_cached_input + countOrZero(payload.billed_cached_input),
  };
  const figures = promptFigures(event);
  if (!figures) return billed;
  const called = countOrZero(payload.tool_call_tokens);
  const { shown_tokens, pasted_tokens } = figures;
  return {
    ...billed,
    prompts: totals.prompts + 1,
    prompt_tokens: totals.prompt_tokens + shown_tokens - called,
    pasted_tokens: totals.pasted_tokens + pasted_tokens,
    tool_calls: totals.tool_calls + countOrZero(payload.tool_calls),
    tool_call_tokens: totals.tool_call_tokens + called,
    recent: [figures, ...totals.recent].slice(0, RECENT_PROMPTS),
    tokenizer: totals.tokenizer ?? String(payload.tokenizer ?? ''),
    estimated: totals.estimated || payload.estimated === true,
  };
}

/**
 * Returns the metrics that a state contains. The token figures change only with artifacts, and each artifact makes a
 * version with new metrics. So they are never older than the figures in the stats of the thread.
 */
export function metricsOf(totals: Totals): Metrics {
  return {
    cache_hits: totals.cache_hits,
    cache_misses: totals.cache_misses,
    tokens_estimate: totals.naive,
    tokens_avoided: totals.naive - totals.previews,
    hop_count: totals.hops,
  };
}

/** Returns a valid count, or 0. Clients write prompt events, so a figure can be anything. */
function countOrZero(value: Json | undefined): number {
  return Number.isSafeInteger(value) ? Math.max(0, value as number) : 0;
}

/** A request with an idempotency key. Repeating the request must not do the work again. */
export interface IdempotentRequest {
  /** Digests of the idempotency key and of the request, which are stored in the event. */
  readonly mark: { readonly key: string; readonly request: string };
  /**
   * Returns the result of the first request with this idempotency key. Throws if the key was used for a
   * different request.
   */
  previousUse(head: Head): KeyUse | undefined;
}

/**
 * Prepares a request that may be repeated. Returns null if there is no idempotency key. `request` returns a
 * digest of everything that must be equal in a repeated request.
 */
export async function idempotentRequest(
  kind: string,
  key: string | undefined,
  request: () => Promise<string>,
): Promise<IdempotentRequest | null> {
  if (checkIdempotencyKey(key) === undefined) return null;
  const mark = {
    key: (await sha256Hex(`${kind}\n${key}`)).slice(0, 32),
    request: (await request()).slice(0, 32),
  };
  return {
    mark,
    previousUse(head) {
      const use = head.keys.get(mark.key);
      if (use && use.request !== mark.request) throw new RelayError('idempotency_conflict');
      return use;
    },
  };
}
