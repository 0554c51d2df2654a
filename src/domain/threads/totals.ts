import type { Json } from '../../base/json.ts';
import type { ArtifactTokens } from '../../contract/threads/artifacts.ts';
import type { Metrics } from '../../contract/threads/state.ts';
import { fromJson } from '../records.ts';
import type { StoredEvent } from './event.ts';

/** What the events of an empty thread add up to. */
export const EMPTY_TOTALS = {
  artifacts: 0,
  /** Those of them that a capability made. */
  results: 0,
  /** Tokens of every artifact's content, once: what pasting would have cost. */
  naive: 0,
  /** Tokens of the previews that went out when the artifacts were made. */
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
  tokenizer: null as string | null,
  /** Some figure in here is an estimate. */
  estimated: false,
};

export type Totals = Readonly<typeof EMPTY_TOTALS>;

export function addToTotals(totals: Totals, { type, payload }: StoredEvent): Totals {
  switch (type) {
    case 'artifact.created': {
      const tokens = fromJson<ArtifactTokens>(payload.tokens);
      return {
        ...totals,
        artifacts: totals.artifacts + 1,
        results: totals.results + (payload.capability === undefined ? 0 : 1),
        naive: totals.naive + tokens.content,
        previews: totals.previews + tokens.preview,
        tokenizer: tokens.tokenizer,
        estimated: totals.estimated || tokens.estimated,
      };
    }
    case 'artifact.pulled':
      return { ...totals, pulls: totals.pulls + 1, pull_tokens: totals.pull_tokens + number(payload.tokens) };
    case 'capability.invoked':
      if (payload.cacheable !== true) return totals;
      return payload.cache_hit === true
        ? { ...totals, cache_hits: totals.cache_hits + 1 }
        : { ...totals, cache_misses: totals.cache_misses + 1 };
    case 'message.sent':
      return { ...totals, hops: totals.hops + 1 };
    case 'prompt.answered':
      return {
        ...totals,
        session_cache_hits: totals.session_cache_hits + (payload.session_cache_hit === true ? 1 : 0),
        billed_input: totals.billed_input + number(payload.billed_input),
        billed_output: totals.billed_output + number(payload.billed_output),
      };
    default:
      return totals;
  }
}

export function metricsOf(totals: Totals): Metrics {
  return {
    cache_hits: totals.cache_hits,
    cache_misses: totals.cache_misses,
    tokens_estimate: totals.naive,
    tokens_avoided: totals.naive - totals.previews - totals.pull_tokens,
    hop_count: totals.hops,
  };
}

function number(value: Json | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
