import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey } from '../../base/ids.ts';
import type { Json } from '../../base/json.ts';
import { RECENT_PROMPTS, THREAD_KEYS } from '../../base/limits.ts';
import type { WorkMeter } from '../../base/work-meter.ts';
import type { Metrics, PromptFigures } from '../../contract/threads.ts';
import { asJson, fromJson } from '../records.ts';
import { type CountedArtifact, makesVersion, type StoredEvent, storedBytes } from './event.ts';
import { idOf, type ThreadRoot } from './keys.ts';
import { bytesOf, firstState, isoTime, patchState, replayPatch, type Sized } from './state.ts';

/** What a thread's log amounts to, up to an entry. The state is never changed in place, the rest is. */
export interface Head extends Sized {
  readonly id: string;
  readonly root: ThreadRoot;
  /** Of the last entry; 0 for an empty log. */
  readonly seq: number;
  /** Events so far; the id of the last one. */
  readonly count: number;
  readonly version: number;
  readonly totals: Totals;
  /** Every artifact, oldest first. */
  readonly refs: readonly string[];
  /** What was done under which idempotency key, oldest first. */
  readonly keys: ReadonlyMap<string, KeyUse>;
  /** Bytes of log since the last snapshot. */
  readonly logBytes: number;
}

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

export function emptyHead(root: ThreadRoot): MutableHead {
  const id = idOf(root);
  return {
    ...{ id, root },
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

/** Takes one more event in. `ready` is the state it leads to, where whoever appended it has worked it out already. */
export function advance(
  head: MutableHead,
  seq: number,
  event: StoredEvent,
  { ready, meter }: { ready?: Sized; meter?: WorkMeter } = {},
): void {
  const payload = event.payload as { [field: string]: Json | undefined };
  // The stamp of the new version counts the event itself, so the totals must not have it yet.
  const totals = addToTotals(head.totals, event);
  if (makesVersion(event)) {
    const version = head.version + 1;
    if (payload.version !== version) {
      throw new RelayError('store_damaged', {
        what: `the log of thread ${head.id} goes from version ${head.version} to ${String(payload.version)}`,
      });
    }
    const after = ready ?? stateAfter(head, event, { apply: replayPatch, meter });
    head.state = after.state;
    head.bytes = after.bytes;
    head.version = version;
    if (event.type === 'artifact.created') head.refs.push(payload.ref as string);
  }
  for (const { ref } of event.legacy?.artifacts ?? []) head.refs.push(ref);
  head.totals = { ...totals, stored: totals.stored + storedBytes(event) };
  if (event.key !== undefined) {
    const { key, request = '', at } = event;
    const ref = typeof payload.ref === 'string' ? { ref: payload.ref } : {};
    head.keys.delete(key);
    head.keys.set(key, { request, version: head.version, at, ...ref });
    if (head.keys.size > THREAD_KEYS) head.keys.delete(head.keys.keys().next().value!);
  }
  head.seq = seq;
  head.count += 1;
  head.logBytes += bytesOf(asJson(event));
}

/**
 * The state that an event leads to. One that is about to be written is held against the schema and the size by
 * `patchState`, and throws; `replayPatch` is for one that is in the log already.
 */
export function stateAfter(
  head: Head,
  event: StoredEvent,
  { apply = patchState, meter }: { apply?: typeof patchState; meter?: WorkMeter } = {},
): Sized {
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

/** What the events of an empty thread add up to. */
const EMPTY_TOTALS = {
  artifacts: 0,
  /** Those of them that a capability made. */
  results: 0,
  /** Tokens of every artifact's content, once; of reports there are none here. */
  naive: 0,
  /** Tokens of their previews. */
  previews: 0,
  pulls: 0,
  pull_tokens: 0,
  cache_hits: 0,
  cache_misses: 0,
  session_cache_hits: 0,
  hops: 0,
  /** As reported by a provider, in addition to our own count. */
  billed_input: 0,
  billed_output: 0,
  billed_cached_input: 0,
  /** Prompts and hand-offs, the tokens of their texts, and what the same with everything pasted would have cost. */
  prompts: 0,
  prompt_tokens: 0,
  pasted_tokens: 0,
  /** What models called for while they answered. */
  tool_calls: 0,
  tool_call_tokens: 0,
  /** The newest prompts, the last one first. */
  recent: [] as readonly PromptFigures[],
  tokenizer: null as string | null,
  /** Some figure in here is an estimate. */
  estimated: false,
  /** Bytes that the thread takes up: its events, and the contents and previews of its artifacts. */
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
      return { ...totals, pulls: totals.pulls + 1, pull_tokens: totals.pull_tokens + number(payload.tokens) };
    case 'capability.invoked':
      // A Go relay did not say so, and kept them all.
      if (payload.cacheable !== true && !legacy) return totals;
      return payload.cache_hit === true
        ? { ...totals, cache_hits: totals.cache_hits + 1 }
        : { ...totals, cache_misses: totals.cache_misses + 1 };
    case 'message.sent':
      return { ...totals, hops: totals.hops + 1 };
    case 'prompt.answered':
    case 'prompt.rendered':
    case 'prompt.handed_over':
      return addPrompt(totals, event);
    default:
      return totals;
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

/** What a prompt put in front of a model; null for an event that is none, or has no two figures to compare. */
export function promptFigures({ type, payload, at }: StoredEvent): PromptFigures | null {
  if (!PROMPTS.has(type)) return null;
  if (typeof payload.prompt_tokens !== 'number' || typeof payload.pasted_tokens !== 'number') return null;
  const shown_tokens = number(payload.prompt_tokens) + number(payload.tool_call_tokens);
  const pasted_tokens = number(payload.pasted_tokens);
  return {
    at: isoTime(at),
    kind: type.slice('prompt.'.length) as PromptFigures['kind'],
    by: String(payload.model ?? payload.by ?? ''),
    pasted_tokens,
    shown_tokens,
    avoided_tokens: pasted_tokens - shown_tokens,
  };
}

const PROMPTS: ReadonlySet<string> = new Set(['prompt.answered', 'prompt.rendered', 'prompt.handed_over']);

/** Without both figures it is not one to compare: the answer was known already, or the event is of an earlier version. */
function addPrompt(totals: Totals, event: StoredEvent): Totals {
  const { payload } = event;
  const billed: Totals = {
    ...totals,
    session_cache_hits: totals.session_cache_hits + (payload.session_cache_hit === true ? 1 : 0),
    billed_input: totals.billed_input + number(payload.billed_input),
    billed_output: totals.billed_output + number(payload.billed_output),
    billed_cached_input: totals.billed_cached_input + number(payload.billed_cached_input),
  };
  const figures = promptFigures(event);
  if (!figures) return billed;
  const called = number(payload.tool_call_tokens);
  const { shown_tokens, pasted_tokens } = figures;
  return {
    ...billed,
    prompts: totals.prompts + 1,
    prompt_tokens: totals.prompt_tokens + shown_tokens - called,
    pasted_tokens: totals.pasted_tokens + pasted_tokens,
    tool_calls: totals.tool_calls + number(payload.tool_calls),
    tool_call_tokens: totals.tool_call_tokens + called,
    recent: [figures, ...totals.recent].slice(0, RECENT_PROMPTS),
    tokenizer: totals.tokenizer ?? String(payload.tokenizer ?? ''),
    estimated: totals.estimated || payload.estimated === true,
  };
}

/** The figures that a state carries. The two of tokens move with artifacts alone, so that stats can say the same. */
export function metricsOf(totals: Totals): Metrics {
  return {
    cache_hits: totals.cache_hits,
    cache_misses: totals.cache_misses,
    tokens_estimate: totals.naive,
    tokens_avoided: totals.naive - totals.previews,
    hop_count: totals.hops,
  };
}

/** Events of prompts come from clients, so a figure that is none counts as nothing. */
function number(value: Json | undefined): number {
  return Number.isSafeInteger(value) ? Math.max(0, value as number) : 0;
}

/** A request that may come again under the same key and must then be done only once. */
export interface Repeatable {
  /** What is written into the event. */
  readonly mark: { readonly key: string; readonly request: string };
  /** What the first one did; throws where the key was used for something else. */
  seen(head: Head): KeyUse | undefined;
}

/** Null without a key. `request` digests all that must be alike for it to be the same request. */
export async function repeatable(
  kind: string,
  key: string | undefined,
  request: () => Promise<string>,
): Promise<Repeatable | null> {
  if (checkIdempotencyKey(key) === undefined) return null;
  const mark = {
    key: (await sha256Hex(`${kind}\n${key}`)).slice(0, 32),
    request: (await request()).slice(0, 32),
  };
  return {
    mark,
    seen(head) {
      const use = head.keys.get(mark.key);
      if (use && use.request !== mark.request) throw new RelayError('idempotency_conflict');
      return use;
    },
  };
}
