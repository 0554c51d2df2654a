import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Departure } from '../../kernel/moving.ts';

/**
 * A frozen stream listens to no subject of its own, so that JetStream itself turns away whoever publishes, and says in its
 * metadata why. One whose time is over is opened again by the next who finds it so.
 */
const TO = 'relay_moving_to';
const UNTIL = 'relay_moving_until';
const SUBJECTS = 'relay_subjects';
const REPUBLISH = 'relay_republish';

/** A writer who is told to come back does so when the last changes have been copied. */
const MOVING_SECONDS = 5;

interface Config {
  readonly name?: string;
  readonly subjects?: string[];
  readonly republish?: JsonObject;
  readonly metadata?: { readonly [key: string]: string };
}

/** `ms`: for how long; null for good. */
export function frozenConfig(config: JsonObject, { to, ms }: Departure): JsonObject {
  const { name, subjects, republish, metadata } = thawedConfig(config) as Config;
  const { republish: _, ...rest } = config;
  return {
    ...rest,
    subjects: [`${name}.frozen`],
    metadata: {
      ...metadata,
      [TO]: to,
      [UNTIL]: ms === null ? '' : String(Date.now() + ms),
      [SUBJECTS]: JSON.stringify(subjects),
      [REPUBLISH]: JSON.stringify(republish ?? null),
    },
  };
}

export function thawedConfig(config: JsonObject): JsonObject {
  const {
    [TO]: to,
    [UNTIL]: _,
    [SUBJECTS]: subjects,
    [REPUBLISH]: republish,
    ...metadata
  } = (config as Config).metadata ?? {};
  if (to === undefined) return config;
  const live = JSON.parse(republish!) as JsonObject | null;
  return { ...config, subjects: JSON.parse(subjects!), ...(live ? { republish: live } : {}), metadata };
}

/** Null where nothing is in the way of writing. */
export function departureOf(config: JsonObject): Departure | null {
  const { [TO]: to, [UNTIL]: until } = (config as Config).metadata ?? {};
  if (to === undefined) return null;
  if (until === '') return { to, ms: null };
  const ms = Number(until) - Date.now();
  return ms <= 0 ? null : { to, ms };
}

export function isFrozen(config: JsonObject): boolean {
  return (config as Config).metadata?.[TO] !== undefined;
}

export function refusalOf({ to, ms }: Departure): RelayError {
  return ms === null
    ? new RelayError('store_moved', { to })
    : new RelayError('store_moving', { to, seconds: MOVING_SECONDS });
}
