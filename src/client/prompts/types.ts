import type { JsonObject } from '../../base/json.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { RenderOptions, ShownArtifact, ThreadsApi } from '../../contract/threads.ts';
import type { BlobBody } from '../../kernel/blobs.ts';

/** The whole text for a model. */
export interface PromptText {
  readonly system: string;
  readonly user: string;
  /** The start of `user` that is equal from question to question, for a provider's cache. */
  readonly stable?: string;
  /** Equal for prompts whose system text and `stable` are equal, for providers that take such a key. */
  readonly cacheKey?: string;
}

/** A tool that a model may call. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object, limited to what every provider supports. */
  readonly parameters: JsonObject;
}

export interface ToolCall {
  /** Links the result to the call. */
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it; it may be invalid. */
  readonly arguments: string;
}

/** A finished round: the model's calls and their results, in the same order. */
export interface Round {
  readonly answer: ModelAnswer;
  readonly results: readonly string[];
}

/** Tools that a model may call, and its calls so far. */
export interface ToolUse {
  readonly tools: readonly Tool[];
  readonly rounds: readonly Round[];
  /** True if it must answer now and further calls are ignored. */
  readonly last: boolean;
}

/** Answers prompts: a provider's model, or a program that asks one. */
export interface Model {
  /** Author in events and the state: `anthropic/claude-…`. */
  readonly name: string;
  /** Rejects with `tools_refused` if it was given tools and supports none. */
  answer(prompt: PromptText, o: AnswerOptions, use?: ToolUse): Promise<ModelAnswer>;
}

export type AnswerOptions = { readonly signal?: AbortSignal } & AnswerListener;

/** Receives an answer as it streams. */
export interface AnswerListener {
  onText?(text: string): void;
  /** Called when nothing arrived for `ms`; after `most` the request is given up. */
  onSilence?(ms: number, most: number): void;
  /** Called when the model used a tool and is asked again. Text before that is not its answer. */
  onPull?(pull: Pull): void;
}

/** A tool call that was executed. */
export interface Pull {
  /** `pull spec.md lines=10-40`, for people. */
  readonly what: string;
  /** Tokens of the call and its result. */
  readonly tokens: number;
}

/** Tool calls while a model answered, in addition to its prompt. */
export interface Pulls {
  readonly calls: number;
  readonly tokens: number;
  /** Tokens of the tool descriptions, which come in addition to the prompt. */
  readonly tools_tokens: number;
  /** Tokens of the full contents of artifacts that only a call showed. */
  readonly pasted_tokens: number;
}

/** Which model answers; missing fields come from the environment and the configuration. */
export interface ModelChoice {
  /** A name in `PROVIDERS`; by default the first one whose key is set. */
  readonly provider?: string;
  readonly model?: string;
  /** Address of an OpenAI-compatible server, or another address of the provider. */
  readonly baseUrl?: string;
  readonly maxTokens?: number;
}

export interface ModelAnswer {
  readonly text: string;
  /** As the provider reported it. */
  readonly billed?: Billed;
  /** True if it reached its output limit. */
  readonly cut?: boolean;
  /** True if the provider says that the model refused. */
  readonly refused?: boolean;
  /** Tool calls whose results it needs to continue. */
  readonly calls?: readonly ToolCall[];
  /** The answer in the provider's own format, to be sent back unchanged. */
  readonly turn?: readonly object[];
}

/** Why an answer is not a whole answer. */
export type Incomplete = 'refused' | 'cut' | 'empty';

/** Returns why an answer is not a whole answer; undefined if it is one. */
export function incompleteness({ text, cut, refused }: ModelAnswer): Incomplete | undefined {
  if (refused) return 'refused';
  return cut ? 'cut' : text.trim() === '' ? 'empty' : undefined;
}

export interface Billed {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** The part of `input_tokens` that came from the provider's cache, if reported. */
  readonly cached_input_tokens?: number;
}

/** A prompt built from a thread: the same state and words give the same bytes. */
export interface Bundle extends PromptText {
  readonly thread_id: string;
  /** Version of the state in it. */
  readonly state_ref: string;
  readonly words: string;
  /** Artifacts it shows, pinned ones first. */
  readonly artifacts: readonly ShownArtifact[];
  /** True if the prompt leaves out a part of the state. */
  readonly truncated: boolean;
  /** Hash of everything that depends on content and not on the thread. */
  readonly fingerprint: string;
  readonly tokens: TokenCount;
  /** Tokens of the same prompt made by pasting the whole state as plain lines and all contents. */
  readonly pasted: TokenCount;
}

export interface PromptRequest extends Pick<RenderOptions, 'system' | 'refs' | 'previews'> {
  readonly thread_id: string;
  readonly words: string;
}

/** How a prompt reaches a program. */
export const PROMPT_WAYS = ['stdin', 'argument', 'file'] as const;
export type PromptWay = (typeof PROMPT_WAYS)[number];

/** What an answer did to the state. */
export interface PatchOutcome {
  readonly status: 'none' | 'applied' | 'refused';
  readonly ops: number;
  /** Why it was rejected. */
  readonly why?: string;
}

/** An answer being stored in the thread. */
export interface NewAnswer {
  readonly by: string;
  readonly body: BlobBody;
  readonly name?: string;
  /** Returns what is known when `body` has been read: the end of the answer, and further fields of the event. */
  end(): Promise<
    Pick<ModelAnswer, 'billed' | 'cut'> & {
      readonly tail: string;
      readonly incomplete?: Incomplete;
      readonly pulls?: Pulls;
      readonly more?: { readonly [field: string]: string | number };
      /** The output is stored but its patch is ignored. */
      readonly failed?: boolean;
    }
  >;
}

/** Returns threads for a named agent, so that every entry has its author. */
export type ThreadsAs = (who: string) => ThreadsApi;
