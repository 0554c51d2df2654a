import type { Json, JsonObject } from '../../base/json.ts';
import type { ArtifactType } from '../../contract/threads.ts';
import type { PromptWay } from '../prompts/types.ts';

/** A file with a pipeline. */
export interface PipelineFile {
  readonly text: string;
  /** Name of the file in errors. */
  readonly file: string;
  /** Name of the pipeline, if the file contains none. */
  readonly name: string;
}

/** A pipeline after parsing and validation. */
export interface Pipeline {
  readonly name: string;
  readonly description: string;
  readonly inputs: { readonly [name: string]: Input };
  readonly agents: { readonly [name: string]: Agent };
  /** In the order of the file. */
  readonly steps: readonly Step[];
  readonly maxParallel: number;
}

export interface Input {
  readonly description: string;
  /** Undefined if a run must provide it. */
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
  /** How the prompt reaches a program without a profile. */
  readonly prompt_by?: PromptWay;
  readonly system?: string;
}

export interface ShellAgent {
  readonly kind: 'shell';
  /** Gets the prompt on stdin; null if a step's prompt is itself the command. */
  readonly command: string | null;
  readonly env: { readonly [name: string]: string };
}

export interface CapabilityAgent {
  readonly kind: 'capability';
  readonly capability: string;
  /** Texts in it are templates; the step's prompt goes into `prompt_as`. */
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
  /** A template. */
  readonly prompt: string;
  /** All steps it waits for: those in `needs` and `context`, and those its templates refer to. */
  readonly needs: readonly string[];
  /** Steps whose results it sees, as refs and previews. */
  readonly context: readonly string[];
  readonly when?: string;
  readonly retry: {
    /** Attempts after the first. */
    readonly max: number;
    readonly backoffMs: number;
  };
  readonly timeoutMs: number;
  /** How long an unchanged step is answered from the cache; null for never. */
  readonly cacheMs: number | null;
  readonly output: { readonly type: ArtifactType; readonly name: string };
  /** How much a model may pull while it answers; a missing field has its default. */
  readonly pulls: { readonly rounds?: number; readonly tokens?: number };
  /** A list, or a reference to one. */
  readonly forEach?: string | readonly Json[];
}

/** An error or a warning about a file. */
export interface Problem {
  readonly line: number;
  readonly what: string;
  readonly severity: 'error' | 'warning';
}
