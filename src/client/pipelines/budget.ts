import { RelayError } from '../../base/errors.ts';
import { ConcurrencyLimit } from '../../base/map-concurrent.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { Billed } from '../prompts/types.ts';
import type { Budget, Pipeline } from './definition.ts';
import { FinalFailure } from './step-runner.ts';

/** Prices of a model per million tokens. `Prices` names the currency. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cached_input?: number;
}

/** Prices by model, and the date at which they were looked up. */
export interface Prices {
  readonly date?: string;
  readonly currency?: string;
  readonly models: { readonly [model: string]: Price };
}

export interface Spent {
  readonly tokens: number;
  readonly money: number;
  readonly ms: number;
}

export const NOTHING_SPENT: Spent = { tokens: 0, money: 0, ms: 0 };

/** Returns the sum of two amounts. */
export function addSpent(a: Spent, b: Spent): Spent {
  return { tokens: a.tokens + b.tokens, money: a.money + b.money, ms: a.ms + b.ms };
}

/** Returns the price of a call. Null if the prices of the model are unknown. */
export function priceOf(prices: Prices, model: string, billed: Billed): number | null {
  // The name of a model may begin with its provider: `anthropic/NAME`. Prices may be listed without the
  // provider.
  const price = prices.models[model] ?? prices.models[model.slice(model.indexOf('/') + 1)];
  if (!price) return null;
  const cached = billed.cached_input_tokens ?? 0;
  const fresh = billed.input_tokens - cached;
  const input = fresh * price.input + cached * (price.cached_input ?? price.input);
  return (input + billed.output_tokens * price.output) / 1_000_000;
}

/**
 * Amounts that a run has spent, and how often a person has extended each budget. Both are computed from the
 * run's log.
 */
export interface BudgetRecord {
  readonly steps: ReadonlyMap<string, Spent>;
  readonly extended: ReadonlyMap<string, number>;
}

interface BudgetParts {
  readonly run: string;
  readonly threads: ThreadsApi;
  readonly prices: Prices;
  /** Asks a person. Resolves with the answer. */
  ask(question: string, choices: readonly string[], key: string): Promise<string>;
  /**
   * Meter of the parent run, if this run is a step of another pipeline. The parent also counts what this run
   * spends.
   */
  readonly outer?: Meter;
}

/** Scope of the run's budget. The scope of a step's budget is the id of the step. */
const RUN = '';

/**
 * Adds up what a run has spent, as providers report it. When a budget is used up, it stops the run or asks a
 * person.
 */
export class Meter {
  readonly #parts: BudgetParts;
  readonly #pipeline: Pipeline;
  readonly #steps: Map<string, Spent>;
  readonly #extended: Map<string, number>;
  /**
   * Lets one step at a time ask a person. If several steps use up a budget at the same time, the first one
   * asks and the others use its answer.
   */
  readonly #asking = new ConcurrencyLimit(1);

  constructor(parts: BudgetParts, pipeline: Pipeline, { steps, extended }: BudgetRecord) {
    this.#parts = parts;
    this.#pipeline = pipeline;
    this.#steps = new Map(steps);
    this.#extended = new Map(extended);
  }

  /**
   * Resolves if the step may call its agent. Rejects if a budget is used up, unless a person extends the
   * budget.
   */
  async admit(step: string): Promise<void> {
    await this.#parts.outer?.admit(step);
    for (const scope of [RUN, step]) {
      if (this.#reached(scope) === null) continue;
      await this.#asking.run(() => this.#extend(scope));
    }
  }

  /**
   * Returns whether a budget is used up if the tokens of a running call are added. `billed` contains the tokens
   * that the call has used so far.
   */
  isUsedUp(step: string, model: string, billed: Billed | undefined): boolean {
    const { prices, outer } = this.#parts;
    const { input_tokens = 0, output_tokens = 0 } = billed ?? {};
    const money = billed ? (priceOf(prices, model, billed) ?? 0) : 0;
    const more = { tokens: input_tokens + output_tokens, money, ms: 0 };
    const isReached = [RUN, step].some((scope) => this.#reached(scope, more) !== null);
    return isReached || (outer?.isUsedUp(step, model, billed) ?? false);
  }

  /** Adds what a call has spent to the totals of the step and of the parent run. */
  count(step: string, spent: Spent): void {
    this.#steps.set(step, addSpent(this.#steps.get(step) ?? NOTHING_SPENT, spent));
    this.#parts.outer?.count(step, spent);
  }

  /** Records the tokens, the cost and the time of a call of a model. */
  async record(step: string, model: string, billed: Billed | undefined, ms: number): Promise<void> {
    const isTimed = this.#budgets(step).some(({ minutes }) => minutes !== undefined);
    if (!billed && !isTimed) return;
    const tokens = billed ? billed.input_tokens + billed.output_tokens : 0;
    const money = billed ? priceOf(this.#parts.prices, model, billed) : 0;
    if (money === null && this.#budgets(step).some((budget) => budget.money !== undefined))
      throw new RelayError('failed', {
        what: `The price of ${model} is unknown, so the budget in money cannot be checked.`,
        hint: 'Add the model to "prices" in config.json.',
      });
    this.count(step, { tokens, money: money ?? 0, ms });
    const { run, threads } = this.#parts;
    await threads.record(run, 'budget.spent', {
      step,
      model,
      tokens,
      ms,
      ...(money === null ? {} : { money }),
    });
  }

  #budgets(step: string): Budget[] {
    return [this.#budgetOf(RUN), this.#budgetOf(step)].filter((budget) => budget !== undefined);
  }

  /**
   * Describes the limit of a run or a step that is reached, such as `900 of 800 tokens`. Null if none is
   * reached.
   */
  #reached(scope: string, more = NOTHING_SPENT): string | null {
    const budget = this.#budgetOf(scope);
    if (!budget) return null;
    const times = 1 + (this.#extended.get(scope) ?? 0);
    const all = scope === RUN ? [...this.#steps.values()] : [this.#steps.get(scope) ?? NOTHING_SPENT];
    const { tokens, money, ms } = all.reduce(addSpent, more);
    const currency = this.#parts.prices.currency ?? '';
    const over = (limit: number | undefined, used: number) => limit !== undefined && used >= limit * times;
    if (over(budget.tokens, tokens)) return `${tokens} of ${budget.tokens! * times} tokens`;
    if (over(budget.money, money))
      return `${money.toFixed(4)} of ${budget.money! * times} ${currency}`.trim();
    if (over(budget.minutes, ms / 60_000))
      return `${(ms / 60_000).toFixed(1)} of ${budget.minutes! * times} minutes`;
    return null;
  }

  #budgetOf(scope: string): Budget | undefined {
    return scope === RUN
      ? this.#pipeline.budget
      : this.#pipeline.steps.find(({ id }) => id === scope)?.budget;
  }

  async #extend(scope: string): Promise<void> {
    const reached = this.#reached(scope);
    // A person has extended the budget while this step waited for `#asking`, so there is nothing to ask.
    if (reached === null) return;
    const what = `The budget of ${scope === RUN ? 'the run' : `the step ${scope}`} is used up: ${reached}`;
    const times = this.#extended.get(scope) ?? 0;
    if (this.#budgetOf(scope)!.onLimit === 'ask') {
      const question = `${what}. Continue with the same budget again?`;
      const { run, threads } = this.#parts;
      if (
        (await this.#parts.ask(question, ['continue', 'stop'], `budget:${run}:${scope}:${times}`)) ===
        'continue'
      ) {
        await threads.record(run, 'budget.extended', { step: scope, times: times + 1 });
        this.#extended.set(scope, times + 1);
        return;
      }
    }
    throw new FinalFailure(what, '');
  }
}
