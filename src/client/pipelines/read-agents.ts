import { isJsonObject, type Json } from '../../base/json.ts';
import type { Agent, AgentKind } from './definition.ts';
import type { FieldReader, Path } from './field-reader.ts';

/** The key that says of what kind an agent is, and which other keys that kind may have. */
const KEYS: { readonly [kind in AgentKind]: readonly string[] } = {
  provider: ['provider', 'model', 'base_url', 'system', 'max_tokens'],
  cli: ['cli', 'args', 'prompt_by', 'system'],
  shell: ['shell', 'env'],
  capability: ['capability', 'args', 'prompt_as'],
  bridge: ['bridge', 'done_channel', 'to'],
  a2a: ['a2a'],
};
const KINDS = Object.keys(KEYS) as AgentKind[];

const TOKENS_MAX = 1_000_000;

export function readAgents(reader: FieldReader, value: Json | undefined): { [name: string]: Agent } {
  const agents: { [name: string]: Agent } = {};
  for (const [name, raw] of Object.entries(reader.object(['agents'], value, '"agents"'))) {
    const path: Path = ['agents', name];
    if (!/^[A-Za-z][\w-]{0,63}$/.test(name)) reader.error(path, `"${name}" is not a name for an agent`);
    if (!isJsonObject(raw)) {
      reader.error(path, `the agent "${name}" must say what it is: ${KINDS.join(', ')}`);
      continue;
    }
    const kinds = KINDS.filter((kind) => Object.hasOwn(raw, kind));
    if (kinds.length !== 1) {
      const what = kinds.length === 0 ? 'does not say what it is' : `is ${kinds.join(' and ')} at once`;
      reader.error(path, `the agent "${name}" ${what}; it is one of ${KINDS.join(', ')}`);
      continue;
    }
    const agent = readAgent(reader, path, kinds[0]!, raw);
    if (agent) agents[name] = agent;
  }
  return agents;
}

function readAgent(
  reader: FieldReader,
  path: Path,
  kind: AgentKind,
  raw: { readonly [key: string]: Json },
): Agent | null {
  const name = String(path.at(-1));
  reader.object(path, raw as never, `the agent "${name}"`, KEYS[kind]);
  const text = (key: string) => reader.text([...path, key], raw[key], `"${key}"`);
  const itself = text(kind);
  if (kind === 'shell') {
    const command = raw.shell === true ? null : itself;
    if (command === undefined || command === '') {
      reader.error(
        [...path, 'shell'],
        '"shell" is a command, or true where the prompt of a step is the command',
      );
      return null;
    }
    const env = reader.object([...path, 'env'], raw.env, '"env"');
    return {
      kind,
      command,
      env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, String(value)])),
    };
  }
  if (!itself) {
    reader.error([...path, kind], `"${kind}" of the agent "${name}" is empty`);
    return null;
  }
  switch (kind) {
    case 'provider':
      return {
        kind,
        provider: itself,
        model: text('model'),
        base_url: text('base_url'),
        system: text('system'),
        max_tokens: reader.count([...path, 'max_tokens'], raw.max_tokens, '"max_tokens"', 1, TOKENS_MAX),
      };
    case 'cli': {
      const by = text('prompt_by');
      if (by !== undefined && !['stdin', 'argument', 'file'].includes(by))
        reader.error([...path, 'prompt_by'], '"prompt_by" is stdin, argument or file');
      return {
        kind,
        cli: itself,
        args: reader.texts([...path, 'args'], raw.args, '"args"'),
        prompt_by: by as 'stdin' | undefined,
        system: text('system'),
      };
    }
    case 'capability':
      return {
        kind,
        capability: itself,
        args: reader.object([...path, 'args'], raw.args, '"args"'),
        prompt_as: text('prompt_as'),
      };
    case 'bridge':
      return { kind, channel: itself, done_channel: text('done_channel') ?? 'agent-done', to: text('to') };
    case 'a2a':
      if (!/^https?:\/\//.test(itself))
        reader.error([...path, 'a2a'], '"a2a" must be an http:// or https:// address');
      return { kind, url: itself };
  }
}
