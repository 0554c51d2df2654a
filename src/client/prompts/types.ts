import type { Incomplete } from '../../base/enums.ts';
import type { JsonObject } from '../../base/json.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { RenderOptions, ShownArtifact, ThreadsApi } from '../../contract/threads.ts';
import type { BlobBody } from '../../kernel/blobs.ts';

/** A complete prompt for a model. */
export interface PromptText {
  readonly system: string;
  readonly user: string;
  /** Beginning of `user` that does not depend on the question. Providers can cache it. */
  readonly stable?: string;
  /**
   * Cache key for providers that accept one. Prompts with equal `system` and equal `stable` have the same
   * cache key.
   */
  readonly cacheKey?: string;
}

/** A tool that a model may call. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /**
   * JSON Schema of the arguments, which are an object. It uses only features that every provider supports.
   */
  readonly parameters: JsonObject;
}

export interface ToolCall {
  /** Id of the call. Its result is sent back with this id. */
  readonly id: string;
  readonly name: string;
  /** Arguments as JSON that the model wrote. It may be invalid. */
  readonly arguments: string;
}

/** A finished round of tool calls: the model's answer with the calls, and their results in the same order. */
export interface Round {
  readonly answer: ModelAnswer;
  readonly results: readonly string[];
}

/** Tools that a model may call, and the rounds of calls that are finished. */
export interface ToolUse {
  readonly tools: readonly Tool[];
  readonly rounds: readonly Round[];
  /** True if the model must answer now. Further tool calls are ignored. */
  readonly last: boolean;
}

/** Answers prompts. It is a provider's model, or a program that asks a model. */
export interface Model {
  /** Name such as `anthropic/claude-…`. Events and the state show it as the author. */
  readonly name: string;
  /** Answers a prompt. Rejects with `tools_refused` if `use` contains tools and the model supports none. */
  answer(prompt: PromptText, o: AnswerOptions, use?: ToolUse): Promise<ModelAnswer>;
}

export type AnswerOptions = { readonly signal?: AbortSignal } & AnswerListener;

/** Callbacks for an answer that is streaming. */
export interface AnswerListener {
  onText?(text: string): void;
  /**
   * Called when the provider has sent nothing for `ms` milliseconds. If it sends nothing for `most` milliseconds,
   * the request is aborted.
   */
  onSilence?(ms: number, most: number): void;
  /**
   * Called after each tool call. The text that the model wrote before the call is not part of the final
   * answer.
   */
  onPull?(pull: Pull): void;
}

/** A tool call that was executed. */
export interface Pull {
  /** Description of the call for people, such as `pull spec.md lines=10-40`. */
  readonly what: string;
  /** Number of tokens of the call's arguments and its result. */
  readonly tokens: number;
}

/**
 * Token counts of all tool calls for one answer together. They do not include the tokens of the prompt
 * itself.
 */
export interface Pulls {
  readonly calls: number;
  readonly tokens: number;
  /** Number of tokens of the tool descriptions. */
  readonly tools_tokens: number;
  /**
   * Number of tokens of the artifacts that tool calls showed, as if they had been pasted whole into the
   * prompt.
   */
  readonly pasted_tokens: number;
}

/** Selects the model that answers. Missing fields come from the environment and the configuration. */
export interface ModelChoice {
  /** Name of a provider in `PROVIDERS`. By default the first provider whose environment variable is set. */
  readonly provider?: string;
  readonly model?: string;
  /** Base URL of an OpenAI-compatible server, or another base URL for the provider. */
  readonly baseUrl?: string;
  readonly maxTokens?: number;
}

export interface ModelAnswer {
  readonly text: string;
  /** Token counts that the provider reported. */
  readonly billed?: Billed;
  /** True if the answer was cut off at the limit of output tokens. */
  readonly cut?: boolean;
  /** True if the provider says that the model refused to answer. */
  readonly refused?: boolean;
  /** Tool calls to execute. The model needs their results to continue. */
  readonly calls?: readonly ToolCall[];
  /** The answer in the provider's own format. The next request sends it back unchanged. */
  readonly turn?: readonly object[];
}

/** Returns why an answer is incomplete. Returns undefined if it is complete. */
export function incompleteness({ text, cut, refused }: ModelAnswer): Incomplete | undefined {
  if (refused) return 'refused';
  return cut ? 'cut' : text.trim() === '' ? 'empty' : undefined;
}

export interface Billed {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /**
   * Number of the `input_tokens` that came from the provider's cache. Undefined if the provider does not
   * report it.
   */
  readonly cached_input_tokens?: number;
}

/** A prompt that was built from a thread. The same state and words always give the same bytes. */
export interface Bundle extends PromptText {
  readonly thread_id: string;
  /** Version of the state that the prompt shows. */
  readonly state_ref: string;
  readonly words: string;
  /** Artifacts that the prompt shows, pinned ones first. */
  readonly artifacts: readonly ShownArtifact[];
  /** True if the prompt leaves out a part of the state. */
  readonly truncated: boolean;
  /** Descriptions of the context that the prompt shows only in part, such as `3 of 8 items of the state`. */
  readonly partial: readonly string[];
  /**
   * Hash of the system text, the header, the artifacts and the words. Prompts with the same content have the
   * same hash, even in different threads.
   */
  readonly fingerprint: string;
  readonly tokens: TokenCount;
  /** Number of tokens that the prompt would have if it contained the whole state and all contents. */
  readonly pasted: TokenCount;
}

export interface PromptRequest
  extends Pick<RenderOptions, 'system' | 'refs' | 'previews' | 'reader' | 'state_tokens'> {
  readonly thread_id: string;
  readonly words: string;
}

/** Ways in which a program can get its prompt. */
export const PROMPT_WAYS = ['stdin', 'argument', 'file'] as const;
export type PromptWay = (typeof PROMPT_WAYS)[number];

/** Result of applying the patch in an answer. */
export interface PatchOutcome {
  readonly status: 'none' | 'applied' | 'refused';
  readonly ops: number;
  /** Reason why the patch was rejected. */
  readonly why?: string;
}

/** An answer that is stored in a thread. Its body may still be streaming. */
export interface NewAnswer {
  readonly by: string;
  readonly body: BlobBody;
  readonly name?: string;
  /**
   * Called after `body` was read to its end. Returns the end of the answer, and further fields for the event.
   */
  end(): Promise<
    Pick<ModelAnswer, 'billed' | 'cut'> & {
      readonly tail: string;
      readonly incomplete?: Incomplete;
      readonly pulls?: Pulls;
      readonly more?: { readonly [field: string]: string | number };
      /** True if the program failed. Its output is stored, but its patch is ignored. */
      readonly failed?: boolean;
    }
  >;
}

/** Returns the threads API for a named agent. This agent becomes the author of every entry. */
export type ThreadsAs = (who: string) => ThreadsApi;
