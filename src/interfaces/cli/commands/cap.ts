import { isJsonObject, type JsonObject } from '../../../base/json.ts';
import { answerCommand, badUsage } from '../command.ts';
import { printable, printableLine, span } from '../human.ts';
import { jsonInput } from '../payload.ts';
import { openThread, THREAD_FLAG } from '../thread-choice.ts';

const list = answerCommand({
  details: 'A capability is a function that the relay runs for an agent, such as retrieval.search.',
  examples: `
    relay cap list  # list the capabilities
    relay cap list --json  # include the JSON schema of their arguments`,
  ask: async ({ open }) => (await open()).relay.capabilities.list(),
  print: ({ capabilities }, { style }) =>
    capabilities
      .map(({ name, description, args_schema, cacheable, cache_ttl_sec, enabled }) => {
        const cached = cacheable ? `cached for ${span(cache_ttl_sec * 1000)}` : 'not cached';
        const about = enabled === false ? `disabled: enable it in the configuration; ${cached}` : cached;
        return [
          `${style.cyan(printableLine(name))}  ${style.dim(about)}`,
          `  ${printableLine(description)}`,
          ...argumentLines(args_schema).map((line) => `  ${line}`),
        ].join('\n');
      })
      .join('\n\n'),
});

function argumentLines(schema: JsonObject): string[] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, value]) => {
    const { type, description } = isJsonObject(value) ? value : {};
    const kind = typeof type === 'string' ? type : 'any';
    const about = typeof description === 'string' ? `: ${printableLine(description)}` : '';
    return `  ${printableLine(name)} (${kind}${required.includes(name) ? '' : ', optional'})${about}`;
  });
}

const invoke = answerCommand({
  usage: '<name>',
  details: `Stores the result as an artifact and prints its preview. A repeated call with the same arguments is answered from
the cache for a limited time; relay cap list shows how long. In this command --json passes the arguments, a JSON object. Use --output json
for JSON output.`,
  flags: { json: { value: 'ARGS', help: 'arguments as JSON, or - for standard input' }, ...THREAD_FLAG },
  examples: `
    relay cap invoke retrieval.search --json '{"query":"retry"}'  # search and store the result
    relay cap invoke retrieval.search --json '{"query":"retry"}' --output json  # print the answer as JSON`,
  async ask(call) {
    const { io, args, flags } = call;
    const input = (await jsonInput(io, 'cap invoke', { flag: flags.json })) ?? {};
    if (!isJsonObject(input))
      throw badUsage(
        'The arguments of a capability must be a JSON object.',
        `Use: relay cap invoke ${args[0]} --json '{"query": "…"}'`,
      );
    const { relay, id } = await openThread(call, { use: true });
    return relay.capabilities.invoke({ capability: args[0]!, thread_id: id, args: input });
  },
  print({ artifact_ref, cache_hit, preview: { text } }, { interactive, style }) {
    const cached = cache_hit ? style.dim('  from the cache') : '';
    return `${style.dim('artifact_ref')}  ${artifact_ref}${cached}\n${interactive ? printable(text) : text}`;
  },
});

export const commands = { list, invoke };
