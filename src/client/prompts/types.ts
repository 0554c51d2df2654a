import type { JsonObject } from '../../base/json.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { RenderOptions, ShownArtifact, ThreadsApi } from '../../contract/threads.ts';
import type { BlobBody } from '../../kernel/blobs.ts';

/** What is said to a model, all of it. */
export interface PromptText {
  readonly system: string;
  readonly user: string;
  /** The beginning of `user` that is the same from one question to the next, for the cache of a provider. */
  readonly stable?: string;
}

/** Something that a model may call. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of an object, in words that every provider knows. */
  readonly parameters: JsonObject;
}

export interface ToolCall {
  /** By it the result is matched to the call. */
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it, which may be broken. */
  readonly arguments: string;
}

/** A round that is over: what the model called for, and what it was given for each call, in the same order. */
export interface Round {
  readonly answer: ModelAnswer;
  readonly results: readonly string[];
}

/** What a model may call, and what was called so far. */
export interface ToolUse {
  readonly tools: readonly Tool[];
  readonly rounds: readonly Round[];
  /** It has to answer now: no call will be done any more. */
  readonly last: boolean;
}

/** Somebody who answers prompts: a provider's model, or a program that asks one. */
export interface Model {
  /** `anthropic/claude-…`: who said it, in events and in the state. */
  readonly name: string;
  /** `tools_refused` where it was given tools and takes none. */
  answer(prompt: PromptText, o: AnswerOptions, use?: ToolUse): Promise<ModelAnswer>;
}

export type AnswerOptions = { readonly signal?: AbortSignal } & AnswerListener;

/** Told of an answer as it comes. */
export interface AnswerListener {
  onText?(text: string): void;
  /** It has sent nothing for `ms`, and is given up after `most`. */
  onSilence?(ms: number, most: number): void;
  /** It called for more, and is asked again with what it got; what it said before that is not its answer. */
  onPull?(pull: Pull): void;
}

/** A call that was done for a model. */
export interface Pull {
  /** `pull spec.md lines=10-40`, for people. */
  readonly what: string;
  /** Of the call and of what it answered. */
  readonly tokens: number;
}

/** What a model called for while it answered, on top of its prompt. */
export interface Pulls {
  readonly calls: number;
  readonly tokens: number;
  /** Of the descriptions of the tools, which stand beside the prompt. */
  readonly tools_tokens: number;
  /** The contents of artifacts of which it was shown something only then. */
  readonly pasted_tokens: number;
}

/** Which model is to answer; what is left out comes from the environment and the configuration. */
export interface ModelChoice {
  /** A name of `PROVIDERS`; the first whose key is set where nothing is said. */
  readonly provider?: string;
  readonly model?: string;
  /** Of an OpenAI-compatible server, or another address of the provider. */
  readonly baseUrl?: string;
  readonly maxTokens?: number;
}

export interface ModelAnswer {
  readonly text: string;
  /** As the provider reported it. */
  readonly billed?: Billed;
  /** It stopped because it may not say more. */
  readonly cut?: boolean;
  /** It wants to be asked again with the results of these. */
  readonly calls?: readonly ToolCall[];
  /** The same answer in the form of its provider, which goes back to it unchanged. */
  readonly turn?: readonly object[];
}

export interface Billed {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Those of `input_tokens` that it had in its cache, where it says so. */
  readonly cached_input_tokens?: number;
}

/** A prompt put together from a thread: the same state and words make the same bytes. */
export interface Bundle extends PromptText {
  readonly thread_id: string;
  /** The version of the state that is in it. */
  readonly state_ref: string;
  readonly words: string;
  /** Those of which something is shown, pins first. */
  readonly artifacts: readonly ShownArtifact[];
  /** Of all that depends on content and not on which thread it is in. */
  readonly fingerprint: string;
  readonly tokens: TokenCount;
  /** The same words with the whole state and the whole contents pasted. */
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
  /** Why it was refused. */
  readonly why?: string;
}

/** An answer on its way into the thread. */
export interface Said {
  readonly by: string;
  readonly body: BlobBody;
  readonly name?: string;
  /** What is known once `body` has been read: the end of the answer, and further fields of the event. */
  end(): Promise<
    Pick<ModelAnswer, 'billed' | 'cut'> & {
      readonly tail: string;
      readonly pulls?: Pulls;
      readonly more?: { readonly [field: string]: string | number };
      /** What was said is kept, and nothing of it is remembered. */
      readonly failed?: boolean;
    }
  >;
}

/** Threads as a named agent writes into them, so that every word has its author. */
export type ThreadsAs = (who: string) => ThreadsApi;
