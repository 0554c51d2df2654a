import type { Json, JsonObject } from '../../base/json.ts';
import type { ArtifactType } from '../../contract/threads.ts';
import type { PromptWay } from '../prompts/types.ts';

/** A pipeline file: its text, its name, and a default name for the pipeline. */
export interface PipelineFile {
  readonly text: string;
  /** Name of the file in error messages. */
  readonly file: string;
  /** Name of the pipeline if the text contains none. */
  readonly name: string;
}

/** A pipeline after parsing and validation. */
export interface Pipeline {
  readonly name: string;
  readonly description: string;
  readonly inputs: { readonly [name: string]: Input };
  readonly agents: { readonly [name: string]: Agent };
  /** Steps in the order of the file. */
  readonly steps: readonly Step[];
  readonly maxParallel: number;
}

export interface Input {
  readonly description: string;
  /** Default value. Undefined if a run must provide a value. */
  readonly value: Json | undefined;
}

export type Agent = ProviderAgent | CliAgent | ShellAgent | CapabilityAgent | BridgeAgent | A2aAgent;
export type AgentKind = Agent['kind'];

export interface ProviderAgent {
  readonly kind: 'provider';
  readonly provider: string;
  readonly model?: string;
  readonly base_url?: string;
  readonly system?: string;
  readonly max_tokens?: number;
}

export interface CliAgent {
  readonly kind: 'cli';
  readonly cli: string;
  readonly args: readonly string[];
  /** How a program without a profile gets its prompt. */
  readonly prompt_by?: PromptWay;
  readonly system?: string;
}

export interface ShellAgent {
  readonly kind: 'shell';
  /** Shell command that gets the prompt on stdin. Null if the prompt of each step is itself the command. */
  readonly command: string | null;
  readonly env: { readonly [name: string]: string };
}

export interface CapabilityAgent {
  readonly kind: 'capability';
  readonly capability: string;
  /**
   * Arguments of the capability. The texts in them are templates. The prompt of the step becomes the argument
   * that `prompt_as` names.
   */
  readonly args: JsonObject;
  readonly prompt_as?: string;
}

export interface BridgeAgent {
  readonly kind: 'bridge';
  readonly channel: string;
  readonly done_channel: string;
  readonly to?: string;
}

export interface A2aAgent {
  readonly kind: 'a2a';
  readonly url: string;
}

export interface Step {
  readonly id: string;
  readonly agent: string;
  /** Template of the prompt. */
  readonly prompt: string;
  /**
   * Ids of all steps that this step waits for. They come from `needs`, `context`, and references in templates
   * and conditions.
   */
  readonly needs: readonly string[];
  /** Ids of the steps whose results this step sees, as refs and previews. */
  readonly context: readonly string[];
  readonly when?: string;
  readonly retry: {
    /** Maximum number of attempts after the first one. */
    readonly max: number;
    readonly backoffMs: number;
  };
  readonly timeoutMs: number;
  /** Time in ms for which the cached result of an unchanged step is used. Null if results are not cached. */
  readonly cacheMs: number | null;
  readonly output: { readonly type: ArtifactType; readonly name: string };
  /** Limits for the tool calls of a model while it answers. A missing field has its default. */
  readonly pulls: { readonly rounds?: number; readonly tokens?: number };
  /** The step runs once for each item of this list. A text is a reference to a list. */
  readonly forEach?: string | readonly Json[];
}

/** An error or a warning about a pipeline file. */
export interface Problem {
  readonly line: number;
  readonly what: string;
  readonly severity: 'error' | 'warning';
}
