import { RelayError } from '../../../base/errors.ts';
import type { Json, JsonObject } from '../../../base/json.ts';
import { CAPABILITY_ARGS_BYTES, CAPABILITY_TTL_MAX_S } from '../../../base/limits.ts';
import type { CapabilityInfo } from '../../../contract/capabilities.ts';
import { JsonSchema } from '../../../formats/json-schema.ts';
import { bytesOf } from '../state.ts';
import type { Capability } from './capability.ts';

const DEFAULT_TTL_S = 300;

export interface Registered extends CapabilityInfo {
  readonly capability: Capability;
  readonly schema: JsonSchema;
}

/** The capabilities of a relay, by name. Anything wrong with one shows here, not when somebody calls it. */
export class Registry {
  readonly #byName = new Map<string, Registered>();

  constructor(capabilities: readonly Capability[]) {
    for (const capability of capabilities) {
      const registered = register(capability);
      if (this.#byName.has(registered.name)) throw wrong(registered.name, 'there are two of that name');
      this.#byName.set(registered.name, registered);
    }
  }

  list(): CapabilityInfo[] {
    return [...this.#byName.values()].map(({ capability, schema: _, ...info }) => ({
      ...info,
      ...(capability.enabled === false ? { enabled: false as const } : {}),
    }));
  }

  get(name: string): Registered {
    const found = this.#byName.get(name);
    if (found && found.capability.enabled !== false) return found;
    throw new RelayError('not_found', {
      what: `capability ${name.slice(0, 64)}`,
      hint: found ? 'It is off; allow it in the configuration.' : 'See relay cap list for those there are.',
    });
  }

  /** The arguments, checked. */
  arguments({ name, schema }: Registered, args: Json): JsonObject {
    if (bytesOf(args) > CAPABILITY_ARGS_BYTES) {
      throw new RelayError('too_large', {
        what: 'the arguments of a capability',
        limit: CAPABILITY_ARGS_BYTES,
      });
    }
    const problem = schema.check(args);
    if (problem) throw new RelayError('bad_arguments', { capability: name, what: problem });
    return args as JsonObject;
  }
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
