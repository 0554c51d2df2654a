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
  /** Pipeline files that this file runs as steps. The key is the path in `uses`. */
  readonly uses?: { readonly [path: string]: PipelineFile };
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
  /**
   * Environment variables of all steps. `${NAME}` in a value is replaced by a secret or by an environment
   * variable.
   */
  readonly env: { readonly [name: string]: string };
  readonly secrets: { readonly [name: string]: Secret };
  readonly budget?: Budget;
  /** Templates of the values that this pipeline returns when it runs as a step of another pipeline. */
  readonly outputs: { readonly [name: string]: string };
  readonly triggers: readonly Trigger[];
  readonly concurrency?: { readonly key: string; readonly mode: 'queue' | 'cancel' };
  /** Default for how people are notified of a question. A step can override it. */
  readonly notify?: Notify;
}

/** Source of the value of a secret. Exactly one of the fields is set. */
export interface Secret {
  readonly env?: string;
  readonly file?: string;
  readonly command?: string;
}

/** Limits of a run or a step. `minutes` is the total time of all steps, even if they run in parallel. */
export interface Budget {
  readonly tokens?: number;
  readonly money?: number;
  readonly minutes?: number;
  /** What happens when a limit is reached: `ask` asks a person whether to continue, `fail` fails the step. */
  readonly onLimit: 'ask' | 'fail';
}

export interface Notify {
  readonly command?: string;
  readonly webhook?: string;
  readonly channel?: string;
}

/**
 * Event that starts a run. `inputs` are templates for the inputs of the run. In them, `trigger` is the data
 * of the event.
 */
export type Trigger = { readonly inputs: { readonly [name: string]: string } } & (
  | { readonly on: 'channel'; readonly channel: string; readonly filter: JsonObject }
  | {
      readonly on: 'schedule';
      readonly cron: string;
      readonly timezone: string;
      /**
       * Runs to start for scheduled times that passed while no server was running: none (`skip`), one for the
       * last time (`last`), or one for each time (`all`).
       */
      readonly missed: 'skip' | 'last' | 'all';
    }
  /** `secret` is the name of the secret that signs the requests. */
  | { readonly on: 'webhook'; readonly path: string; readonly secret: string }
);

export interface Input {
  readonly description: string;
  /** Default value of the input. Undefined if each run must set the input. */
  readonly value: Json | undefined;
}

export type Agent =
  | ProviderAgent
  | CliAgent
  | ShellAgent
  | CapabilityAgent
  | BridgeAgent
  | A2aAgent
  | PersonAgent
  | PipelineAgent;
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
  /**
   * How the program gets its prompt. May be missing for a known program such as `claude`, because the relay has
   * a default for this program.
   */
  readonly prompt_by?: PromptWay;
  readonly system?: string;
}

export interface ShellAgent {
  readonly kind: 'shell';
  /** Shell command that gets the prompt on stdin. If null, the prompt of each step is itself the command. */
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

/** A person who answers a question. */
export interface PersonAgent {
  readonly kind: 'person';
  /** Template of the question. */
  readonly question: string;
  readonly choices: readonly string[];
  readonly who: readonly string[];
  readonly default?: string;
  readonly timeoutMs?: number;
  readonly notify?: Notify;
}

/** Another pipeline that runs as a step. */
export interface PipelineAgent {
  readonly kind: 'pipeline';
  /** Path of the pipeline file, relative to the file that contains this step. */
  readonly uses: string;
  /** Inputs for the pipeline in `uses`. The texts in them are templates. */
  readonly args: JsonObject;
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
  /**
   * Time in ms for which a cached result is used again if the step has not changed. Null if results are not
   * cached.
   */
  readonly cacheMs: number | null;
  readonly output: { readonly type: ArtifactType; readonly name: string };
  /** Limits for the tool calls of a model while it answers. A missing field has its default. */
  readonly pulls: { readonly rounds?: number; readonly tokens?: number };
  /** List of items, or a reference to a list. The step runs once for each item. */
  readonly forEach?: string | readonly Json[];
  /** Agent of a step with `approve` or `uses`. The step defines it, so it is not in `agents`. */
  readonly own?: PersonAgent | PipelineAgent;
  /** Repeats the step until the condition holds, at most `max` times. `check` is a command that runs after each round. */
  readonly until?: { readonly condition: string; readonly max: number; readonly check?: string };
  readonly budget?: Budget;
  readonly env: { readonly [name: string]: string };
}

/** An error or a warning about a pipeline file. */
export interface Problem {
  readonly line: number;
  readonly what: string;
  readonly severity: 'error' | 'warning';
}
