import { isJsonObject } from '../../base/json.ts';
import { QUESTION_CHOICES, QUESTION_TTL_MAX_S, STEP_ROUNDS, STEP_ROUNDS_MAX } from '../../base/limits.ts';
import { nextTime } from './cron.ts';
import type {
  Budget,
  Notify,
  PersonAgent,
  Pipeline,
  PipelineAgent,
  Secret,
  Step,
  Trigger,
} from './definition.ts';
import { Fields, type Report } from './fields.ts';

/** Reads the agent that a step defines with `approve` or `uses`. Returns null if the step has neither field. */
export function readOwnAgent(fields: Fields, id: string): PersonAgent | PipelineAgent | null {
  const kinds = ['agent', 'approve', 'uses'].filter((key) => (fields.raw[key] ?? undefined) !== undefined);
  if (kinds.length > 1)
    fields.error(`the step "${id}" has ${kinds.join(' and ')}; it must have one of them`, kinds[1]!);
  if (fields.raw.with !== undefined && !kinds.includes('uses')) fields.error('"with" needs "uses"', 'with');
  if (kinds[0] === 'uses')
    return { kind: 'pipeline', uses: fields.text('uses') ?? '', args: fields.map('with').raw };
  return kinds[0] === 'approve' ? readApprove(fields) : null;
}

function readApprove(fields: Fields): PersonAgent {
  const approve = fields.shorthand('approve', [
    'question',
    'choices',
    'who',
    'default',
    'timeout',
    'notify',
  ])!;
  const question = approve.text('question')?.trim() ?? '';
  if (question === '') approve.error('"approve" needs a "question"');
  const choices = approve.raw.choices === undefined ? ['approve', 'reject'] : approve.texts('choices');
  if (choices.length > QUESTION_CHOICES)
    approve.error(`"approve" has at most ${QUESTION_CHOICES} choices`, 'choices');
  const fallback = approve.text('default');
  if (fallback !== undefined && choices.length > 0 && !choices.includes(fallback))
    approve.error(`the default "${fallback}" is not one of the choices`, 'default');
  const timeoutMs = approve.span('timeout');
  if (timeoutMs !== undefined && timeoutMs > QUESTION_TTL_MAX_S * 1000)
    approve.error('"timeout" is at most 90 days', 'timeout');
  const notify = readNotify(approve);
  return {
    kind: 'person',
    question,
    choices,
    who: approve.texts('who'),
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(notify ? { notify } : {}),
  };
}

/** Reads `notify`: a command, or an object with a command, a webhook and a channel. */
export function readNotify(fields: Fields): Notify | undefined {
  const notify = fields.shorthand('notify', ['command', 'webhook', 'channel']);
  if (notify === undefined) return undefined;
  const [command, webhook, channel] = ['command', 'webhook', 'channel'].map((key) => notify.text(key));
  if (webhook !== undefined && !/^https?:\/\//.test(webhook))
    notify.error('"webhook" must be an http:// or https:// address', 'webhook');
  return { command, webhook, channel };
}

/**
 * Reads `until`: a condition, or an object. If the object has a `check`, the condition is by default that
 * this command exits with 0.
 */
export function readUntil(fields: Fields): Step['until'] {
  const until = fields.shorthand('until', ['condition', 'max', 'check']);
  if (until === undefined) return undefined;
  const check = until.text('check');
  const condition = until.text('condition') ?? (check === undefined ? undefined : 'exit_code == 0');
  if (condition === undefined) return until.error('"until" needs a "condition" or a "check"') ?? undefined;
  const max = until.count('max', 1, STEP_ROUNDS_MAX) ?? STEP_ROUNDS;
  return { condition, max, ...(check === undefined ? {} : { check }) };
}

/** Reads `budget`, which must set at least one limit. */
export function readBudget(fields: Fields): Budget | undefined {
  if ((fields.raw.budget ?? undefined) === undefined) return undefined;
  const budget = fields.map('budget', ['tokens', 'money', 'minutes', 'on_limit']);
  const [tokens, money, minutes] = ['tokens', 'money', 'minutes'].map((key) => budget.amount(key));
  if (tokens === undefined && money === undefined && minutes === undefined)
    budget.error('"budget" needs "tokens", "money" or "minutes"');
  return { tokens, money, minutes, onLimit: budget.oneOf('on_limit', ['ask', 'fail']) ?? 'fail' };
}

/**
 * Reads `secrets`: the source of each secret, by name. A source that is a text is the name of an environment
 * variable.
 */
export function readSecrets(fields: Fields): { [name: string]: Secret } {
  const found: { [name: string]: Secret } = {};
  const secrets = fields.map('secrets');
  for (const [name, raw] of Object.entries(secrets.raw)) {
    if (!/^[A-Za-z_]\w{0,127}$/.test(name)) secrets.error(`"${name}" is not a valid name for a secret`, name);
    const whole = typeof raw === 'string' ? { env: raw } : raw;
    const secret = secrets.map(name, ['env', 'file', 'command'], `the secret "${name}"`, whole ?? {});
    const [env, file, command] = ['env', 'file', 'command'].map((key) => secret.text(key));
    if ([env, file, command].filter((source) => source !== undefined).length !== 1)
      secret.error(`the secret "${name}" needs exactly one of env, file and command`);
    found[name] = { env, file, command };
  }
  return found;
}

/** Reads `concurrency`: a key, or an object with a key and a mode. */
export function readConcurrency(fields: Fields): Pipeline['concurrency'] {
  const concurrency = fields.shorthand('concurrency', ['key', 'mode']);
  if (concurrency === undefined) return undefined;
  const key = concurrency.text('key');
  if (!key) return concurrency.error('"concurrency" needs a "key"') ?? undefined;
  return { key, mode: concurrency.oneOf('mode', ['queue', 'cancel']) ?? 'queue' };
}

const TRIGGER_KEYS = {
  channel: ['channel', 'filter', 'inputs'],
  schedule: ['schedule', 'timezone', 'missed', 'inputs'],
  webhook: ['webhook', 'secret', 'inputs'],
};

/** Reads `triggers`: one trigger or a list. */
export function readTriggers(fields: Fields, report: Report): Trigger[] {
  const value = fields.raw.triggers ?? [];
  const list = Array.isArray(value) ? value : [value];
  return list.flatMap((raw, at): Trigger[] => {
    const kinds = Object.keys(TRIGGER_KEYS).filter((kind) => isJsonObject(raw) && Object.hasOwn(raw, kind));
    const on = kinds[0] as Trigger['on'] | undefined;
    const trigger = new Fields(report, ['triggers', at], raw, 'a trigger', on && TRIGGER_KEYS[on]);
    if (on === undefined || kinds.length > 1)
      return trigger.error('a trigger must have exactly one of channel, schedule and webhook') ?? [];
    const inputs = trigger.variables('inputs');
    const source = trigger.text(on) ?? '';
    if (source === '') trigger.error(`"${on}" is empty`, on);
    if (on === 'channel') return [{ on, channel: source, filter: trigger.map('filter').raw, inputs }];
    if (on === 'webhook') {
      const secret = trigger.text('secret') ?? '';
      const secrets = isJsonObject(fields.raw.secrets) ? Object.keys(fields.raw.secrets) : [];
      if (!secrets.includes(secret)) trigger.error('"secret" must name a secret of this file', 'secret');
      return [{ on, path: source, secret, inputs }];
    }
    const timezone = trigger.text('timezone') ?? 'UTC';
    try {
      nextTime(source, timezone, Date.now());
    } catch (error) {
      trigger.error((error as Error).message, on);
    }
    const missed = trigger.oneOf('missed', ['skip', 'last', 'all']) ?? 'last';
    return [{ on, cron: source, timezone, missed, inputs }];
  });
}
