import type { TokenCount } from '../../base/tokens.ts';

/** What a thread's content would have cost if pasted, and what has been read of it instead. */
export interface Stats {
  readonly thread_id: string;
  readonly artifacts: number;
  readonly naive_tokens: number;
  readonly actual_tokens: number;
  /** May be negative: then pasting would have been cheaper. */
  readonly avoided_tokens: number;
  readonly cache_hits: number;
  readonly session_cache_hits: number;
  /** Of what `actual_tokens` is made. */
  readonly breakdown: {
    readonly headers: number;
    readonly header_reads: number;
    readonly previews: number;
    readonly preview_reads: number;
    readonly pulls: number;
    readonly pull_reads: number;
  };
  readonly tokenizer: string;
  /** Some content was too long to be counted whole. */
  readonly estimated: boolean;
  /** As told by providers, where they were asked; beside our own count, not part of it. */
  readonly billed: { readonly input_tokens: number; readonly output_tokens: number };
}

export interface SumStats extends Omit<Stats, 'thread_id'> {
  readonly threads: number;
}

export type RenderFormat = 'openai' | 'anthropic';

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
  /** What all of it costs. */
  readonly tokens: TokenCount;
}

export type ReportFormat = 'md' | 'json';

export interface ReportAnswer {
  readonly artifact_ref: string;
  readonly format: ReportFormat;
  readonly size: number;
  readonly thread_id: string;
  readonly token_savings: Pick<Stats, 'naive_tokens' | 'actual_tokens' | 'avoided_tokens' | 'tokenizer'>;
}
