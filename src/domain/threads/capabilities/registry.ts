import { RelayError } from '../../../base/errors.ts';
import { CAPABILITY_TTL_MAX_S } from '../../../base/limits.ts';
import type { CapabilityInfo } from '../../../contract/capabilities.ts';
import { JsonSchema } from '../../../formats/json-schema.ts';
import type { Capability } from './capability.ts';

const DEFAULT_TTL_S = 300;

export interface Registered extends CapabilityInfo {
  readonly capability: Capability;
  readonly schema: JsonSchema;
}

/** The capabilities of a relay, by name. Anything wrong with one shows here, not when somebody calls it. */
export function registered(capabilities: readonly Capability[]): ReadonlyMap<string, Registered> {
  const byName = new Map<string, Registered>();
  for (const capability of capabilities) {
    const one = register(capability);
    if (byName.has(one.name)) throw wrong(one.name, 'there are two of that name');
    byName.set(one.name, one);
  }
  return byName;
}

function register(capability: Capability): Registered {
  const { name, description, args_schema, cacheable = false, cache_ttl_sec = DEFAULT_TTL_S } = capability;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*$/.test(name) || name.length > 64) {
    throw wrong(String(name), 'its name is not words of small letters with dots between');
  }
  if (typeof description !== 'string') throw wrong(name, 'it has no description');
  if (typeof capability.run !== 'function') throw wrong(name, 'it has no run');
  if (!(cache_ttl_sec >= 1 && cache_ttl_sec <= CAPABILITY_TTL_MAX_S))
    throw wrong(name, 'its cache_ttl_sec is out of range');
  try {
    const schema = new JsonSchema({ type: 'object', ...args_schema });
    return { name, description, args_schema, cacheable, cache_ttl_sec, capability, schema };
  } catch (error) {
    throw wrong(name, `its schema: ${(error as Error).message}`);
  }
}

function wrong(name: string, what: string): RelayError {
  return new RelayError('bad_request', { what: `The capability ${name} cannot be used: ${what}.` });
}
