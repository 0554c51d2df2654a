import { badRequest, type RelayError, tooLarge } from '../../base/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { STEP_OUTPUT_BYTES, STEP_VALUE_BYTES } from '../../base/limits.ts';
import type { Artifact, ThreadsApi } from '../../contract/threads.ts';
import { datedFrame, type FrameSecret, oneLine } from '../../text/frame.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';
import type { Agent, Step } from './definition.ts';
import {
  asText,
  evaluate,
  fillTemplate,
  fillValue,
  parseExpression,
  type Reference,
  referencesOf,
  templateReferences,
  truth,
  valueReferences,
} from './expression.ts';
import { artifactText } from './journal.ts';
import type { StepStatus } from './step-runner.ts';

/** Status and results of a step, as later steps see them. */
export interface StepView {
  readonly status: StepStatus;
  /** One result, or one result per item of `for_each`. */
  readonly results: readonly Artifact[];
  readonly many: boolean;
}

export interface ScopeParts {
  readonly run: string;
  readonly inputs: { readonly [name: string]: Json };
  readonly threads: ThreadsApi;
  readonly frameSecret: FrameSecret;
  /** Data of the trigger that started the run. */
  readonly trigger?: Json;
  view(step: string): StepView | undefined;
}

/** An item of `for_each`, with its position from 0. */
export interface Item {
  readonly item: Json;
  readonly index: number;
}

/** Values that the templates and conditions of a step can use. */
export class Scope {
  readonly #parts: ScopeParts;
  readonly #item: Item | null;
  /** Ref → text of a result. The texts are loaded in advance, because `#resolve` is synchronous. */
  readonly #texts = new Map<string, string>();

  constructor(parts: ScopeParts, item: Item | null = null) {
    this.#parts = parts;
    this.#item = item;
  }

  /** Evaluates a condition. `more` contains additional names and their values, for this condition only. */
  async holds(when: string, more: { readonly [name: string]: Json } = {}): Promise<boolean> {
    const expression = parseExpression(when);
    await this.#load(referencesOf(expression));
    return truth(
      evaluate(expression, ([root, ...deeper]) =>
        Object.hasOwn(more, root!) ? within(more[root!]!, deeper) : this.#resolve([root!, ...deeper]),
      ),
    );
  }

  /** Returns the items of a `for_each`. */
  async list(forEach: string | readonly Json[]): Promise<readonly Json[]> {
    if (typeof forEach !== 'string') return forEach;
    const path = forEach.split('.');
    await this.#load([path]);
    const value = asList(this.#resolve(path));
    if (value) return value;
    throw badRequest(
      `${forEach} is not a list. Use a JSON array, lines, or values with commas between them.`,
    );
  }

  /**
   * Returns the prompt of a step with its placeholders filled. Output of other agents must not act as instructions.
   * So it is sanitized, and output that is long or has several lines gets a frame.
   */
  async promptText({ prompt }: Step): Promise<string> {
    const references = templateReferences(prompt);
    await this.#load(references);
    const data = new Map<string, string>();
    for (const path of references) data.set(path.join('.'), await this.#data(path));
    return fillTemplate(prompt, (path) => data.get(path.join('.'))!);
  }

  /**
   * Returns the command of a step. The values of placeholders are passed in environment variables. So the
   * shell never parses the output of an agent as part of the command.
   */
  async command(step: Pick<Step, 'prompt'>): Promise<{ prompt: string; values: { [name: string]: string } }> {
    const values: { [name: string]: string } = {};
    const prompt = await this.#filled(step, (path) => {
      const name = `RELAY_VALUE_${Object.keys(values).length + 1}`;
      const value = asText(this.#resolve(path)).replaceAll('\0', '');
      if (value.length > STEP_VALUE_BYTES) throw tooLong(path, STEP_VALUE_BYTES);
      values[name] = value;
      return `\${${name}}`;
    });
    return { prompt, values };
  }

  /**
   * Returns the prompt of a step without frames around the output of other agents. It is for receivers that
   * treat all text as data and never as instructions.
   */
  plain(step: Pick<Step, 'prompt'>): Promise<string> {
    return this.#filled(step, (path) => asText(this.#resolve(path)));
  }

  async args(agent: Agent): Promise<JsonObject> {
    if (agent.kind !== 'capability' && agent.kind !== 'pipeline') return {};
    await this.#load(valueReferences(agent.args));
    return fillValue(agent.args, (path) => this.#resolve(path)) as JsonObject;
  }

  async #filled({ prompt }: Pick<Step, 'prompt'>, fill: (path: Reference) => string): Promise<string> {
    await this.#load(templateReferences(prompt));
    return fillTemplate(prompt, fill);
  }

  async #data(path: Reference): Promise<string> {
    const text = asText(this.#resolve(path));
    const [root, name, field] = path;
    if (root === 'trigger')
      return this.#framed(text, {
        what: `the trigger's ${oneLine(path.slice(1).join('.'))}`,
        by: 'the trigger',
        at: 0,
      });
    if (root !== 'steps' || field === 'ref' || field === 'status') return text;
    const last = this.#parts.view(name!)?.results.at(-1);
    if (!last) return neutralise(text).trim();
    const what = `${field} of the step ${oneLine(name!)}`;
    return this.#framed(text, { what, by: last.provenance.created_by, at: Date.parse(last.created_at) });
  }

  /** Sanitizes foreign text for a prompt. Text that is long or has several lines gets a frame. */
  async #framed(text: string, source: { what: string; by: string; at: number }): Promise<string> {
    const clean = neutralise(text).trim();
    if (!clean.includes('\n') && clean.length <= 200) return clean;
    return `\n${await datedFrame(clean, source, this.#parts.frameSecret)}\n`;
  }

  #resolve([root, name, field, ...deeper]: Reference): Json {
    if (root === 'inputs') return within(this.#parts.inputs[name!] ?? '', [field, ...deeper]);
    if (root === 'run') return this.#parts.run;
    if (root === 'trigger') return within(this.#parts.trigger ?? '', [name, field, ...deeper]);
    if (root === 'index') return this.#item?.index ?? 0;
    if (root === 'item') return within(this.#item?.item ?? null, [name, field, ...deeper]);
    const view = this.#parts.view(name!);
    if (!view || field === 'status') return view?.status ?? 'pending';
    const each = (make: (artifact: Artifact) => Json): Json => {
      if (view.many || field === 'outputs') return view.results.map(make);
      return view.results[0] ? make(view.results[0]) : '';
    };
    if (field === 'ref') return each(({ ref }) => ref);
    if (field === 'preview') return each(({ preview }) => preview.text);
    return within(
      each((artifact) => contentOf(artifact, this.#texts.get(artifact.ref) ?? '')),
      deeper,
    );
  }

  async #load(references: readonly Reference[]): Promise<void> {
    for (const path of references) {
      const [root, name, field] = path;
      if (root !== 'steps' || (field !== 'output' && field !== 'outputs')) continue;
      for (const { ref, size } of this.#parts.view(name!)?.results ?? []) {
        if (this.#texts.has(ref)) continue;
        if (size > STEP_OUTPUT_BYTES) throw tooLong(path, STEP_OUTPUT_BYTES);
        this.#texts.set(ref, await artifactText(this.#parts.threads, this.#parts.run, ref));
      }
    }
  }
}

/** Returns the content of an artifact: a parsed value for JSON, or the text without its last line break. */
function contentOf({ type }: Artifact, text: string): Json {
  if (type === 'json') {
    try {
      return JSON.parse(text) as Json;
    } catch {
      // JSON was checked when the artifact was stored. If it cannot be parsed all the same, use it as text.
    }
  }
  return text.replace(/\n$/, '');
}

/**
 * Returns the value at a path inside a value, or an empty text if there is none. Skips undefined keys of
 * the path.
 */
export function within(value: Json, path: readonly (string | undefined)[]): Json {
  let found: Json | undefined = value;
  for (const key of path) {
    if (key === undefined) continue;
    if (Array.isArray(found)) found = found[Number(key)];
    else if (isJsonObject(found) && Object.hasOwn(found, key)) found = found[key];
    else return '';
  }
  return found ?? '';
}

function asList(value: Json): readonly Json[] | null {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string') return null;
  try {
    const parsed = JSON.parse(value) as Json;
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // The text is not a JSON list. Split it into lines below, or at its commas if it has only one line.
  }
  const parts = value.includes('\n') ? value.split('\n') : value.split(',');
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function tooLong(path: Reference, limit: number): RelayError {
  const hint =
    'Name the step in "context" instead. The prompt then gets a ref and a preview, and the agent can pull the rest.';
  return tooLarge(`the value of ${path.join('.')}`, limit, hint);
}
