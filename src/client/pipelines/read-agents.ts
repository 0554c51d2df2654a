import { isJsonObject } from '../../base/json.ts';
import { PROMPT_WAYS, type PromptWay } from '../prompts/types.ts';
import type { Agent, AgentKind } from './definition.ts';
import type { Fields } from './fields.ts';

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

export function readAgents(agents: Fields): { [name: string]: Agent } {
  const found: { [name: string]: Agent } = {};
  for (const [name, raw] of Object.entries(agents.raw)) {
    if (!/^[A-Za-z][\w-]{0,63}$/.test(name)) agents.error(`"${name}" is not a name for an agent`, name);
    if (!isJsonObject(raw)) {
      agents.error(`the agent "${name}" must say what it is: ${KINDS.join(', ')}`, name);
      continue;
    }
    const kinds = KINDS.filter((kind) => Object.hasOwn(raw, kind));
    if (kinds.length !== 1) {
      const what = kinds.length === 0 ? 'does not say what it is' : `is ${kinds.join(' and ')} at once`;
      agents.error(`the agent "${name}" ${what}; it is one of ${KINDS.join(', ')}`, name);
      continue;
    }
    const kind = kinds[0]!;
    const agent = readAgent(name, kind, agents.map(name, KEYS[kind], `the agent "${name}"`));
    if (agent) found[name] = agent;
  }
  return found;
}

function readAgent(name: string, kind: AgentKind, fields: Fields): Agent | null {
  const itself = fields.text(kind);
  if (kind === 'shell') {
    const command = fields.raw.shell === true ? null : itself;
    if (command === undefined || command === '') {
      fields.error('"shell" is a command, or true where the prompt of a step is the command', 'shell');
      return null;
    }
    const env = Object.entries(fields.map('env').raw).map(([key, value]) => [key, String(value)]);
    return { kind, command, env: Object.fromEntries(env) };
  }
  if (!itself) {
    fields.error(`"${kind}" of the agent "${name}" is empty`, kind);
    return null;
  }
  switch (kind) {
    case 'provider':
      return {
        kind,
        provider: itself,
        model: fields.text('model'),
        base_url: fields.text('base_url'),
        system: fields.text('system'),
        max_tokens: fields.count('max_tokens', 1, TOKENS_MAX),
      };
    case 'cli': {
      const by = fields.text('prompt_by') as PromptWay | undefined;
      if (by !== undefined && !PROMPT_WAYS.includes(by))
        fields.error('"prompt_by" is stdin, argument or file', 'prompt_by');
      return { kind, cli: itself, args: fields.texts('args'), prompt_by: by, system: fields.text('system') };
    }
    case 'capability':
      return {
        kind,
        capability: itself,
        args: fields.map('args').raw,
        prompt_as: fields.text('prompt_as'),
      };
    case 'bridge':
      return {
        kind,
        channel: itself,
        done_channel: fields.text('done_channel') ?? 'agent-done',
        to: fields.text('to'),
      };
    case 'a2a':
      if (!/^https?:\/\//.test(itself)) fields.error('"a2a" must be an http:// or https:// address', 'a2a');
      return { kind, url: itself };
  }
}
