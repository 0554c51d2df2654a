import type { TokenCount } from '../../base/tokens.ts';
import type { Artifact } from './artifacts.ts';

/** What an agent reads of a thread beside its prompts. Contents are pulled, which is an event. */
export const READ_KINDS = ['headers', 'states', 'previews', 'listings', 'searches'] as const;
export type ReadKind = (typeof READ_KINDS)[number];

/** The figures of a thread. docs/tokens.md has the definitions, and an example worked by hand. */
export interface Stats {
  readonly thread_id: string;
  readonly artifacts: number;
  /** The contents of the artifacts, each once. Reports, which the relay makes, are not among them. */
  readonly naive_tokens: number;
  /** Their previews, each once. */
  readonly actual_tokens: number;
  /** The difference. */
  readonly avoided_tokens: number;
  readonly cache_hits: number;
  readonly session_cache_hits: number;
  /** What agents read beside the prompts, in tokens and in times. */
  readonly breakdown: {
    readonly headers: number;
    readonly header_reads: number;
    readonly states: number;
    readonly state_reads: number;
    readonly previews: number;
    readonly preview_reads: number;
    readonly listings: number;
    readonly listing_reads: number;
    readonly searches: number;
    readonly search_reads: number;
    readonly pulls: number;
    readonly pull_reads: number;
  };
  readonly tokenizer: string;
  /** Some content was too long to be counted whole. */
  readonly estimated: boolean;
  /** As told by providers, where they were asked; beside our own count, not part of it. */
  readonly billed: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    /** Those of `input_tokens` that a provider had in its cache. */
    readonly cached_input_tokens: number;
  };
  /** Null where nothing was prompted. */
  readonly prompts: PromptLedger | null;
  /** The last one first, a bounded number. */
  readonly recent_prompts: readonly PromptFigures[];
}

export interface SumStats extends Omit<Stats, 'thread_id' | 'recent_prompts'> {
  readonly threads: number;
}

/** What was put in front of models, against pasting into each prompt what it stood for. docs/tokens.md has the definitions. */
export interface PromptLedger {
  /** Prompts that were answered or rendered, and hand-offs. */
  readonly prompts: number;
  /** The same prompts with the whole state, and the whole content of each artifact that they showed or that was pulled. */
  readonly pasted_tokens: number;
  /** The sum of the three below. */
  readonly shown_tokens: number;
  /** May be negative: then pasting would have been cheaper. */
  readonly avoided_tokens: number;
  /** The texts of the prompts. */
  readonly prompt_tokens: number;
  readonly tool_calls: number;
  /** What models called for while they answered. */
  readonly tool_call_tokens: number;
  /** What agents read beside the prompts: the sum of `breakdown`. */
  readonly read_tokens: number;
}

/** One prompt. */
export interface PromptFigures {
  readonly at: string;
  readonly kind: 'answered' | 'rendered' | 'handed_over';
  /** The model, or who asked. */
  readonly by: string;
  readonly pasted_tokens: number;
  readonly shown_tokens: number;
  readonly avoided_tokens: number;
}

export type RenderFormat = 'openai' | 'anthropic';

/** How a prompt is made of a thread. */
export interface RenderOptions {
  readonly format?: RenderFormat;
  /** What is asked. It comes last, and previews are chosen by it. */
  readonly words?: string;
  /** Artifacts that are shown in any case, before all others. */
  readonly refs?: readonly string[];
  /** How many artifacts are shown at most; 10 by default. */
  readonly previews?: number;
  /** In place of the first paragraph of the system message. */
  readonly system?: string;
  /** Only to look at: the ledger does not count it. */
  readonly dry?: boolean;
}

/** An artifact of which a prompt shows something. */
export interface ShownArtifact extends Pick<Artifact, 'ref' | 'type' | 'name' | 'size' | 'hash'> {
  readonly created_by: string;
  /** Where the passages that are shown begin; absent where its beginning alone is shown. */
  readonly lines?: readonly number[];
}

export interface RenderedMessage {
  readonly role: 'system' | 'user';
  readonly content: string;
}

/** A thread as it goes into a prompt. */
export interface Rendered {
  readonly format: RenderFormat;
  readonly thread_id: string;
  readonly state_ref: string;
  /** Whether the header had to leave something out. */
  readonly truncated: boolean;
  /** Anthropic takes it apart from the messages; for OpenAI it is the first of them, and this is absent. */
  readonly system?: string;
  readonly messages: readonly RenderedMessage[];
  /** The state as it stands in the user's message; empty where nothing is known. */
  readonly header: string;
  /** How many characters at the beginning of the user's message do not depend on the words. */
  readonly stable: number;
  /** What is shown of artifacts, pins first. */
  readonly artifacts: readonly ShownArtifact[];
  /** What all of it costs. */
  readonly tokens: TokenCount;
  /** The same with the whole state and the whole contents of these artifacts pasted. */
  readonly pasted: TokenCount;
}

export type ReportFormat = 'md' | 'json';

export interface ReportAnswer {
  readonly artifact_ref: string;
  readonly format: ReportFormat;
  readonly size: number;
  readonly thread_id: string;
  readonly token_savings: Pick<Stats, 'naive_tokens' | 'actual_tokens' | 'avoided_tokens' | 'tokenizer'>;
}
