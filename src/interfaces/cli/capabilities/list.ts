import { isJsonObject, type JsonObject } from '../../../base/json.ts';
import { answerCommand } from '../command.ts';
import { span } from '../human.ts';
import { plain } from '../threads/event-line.ts';

export default answerCommand({
  examples: [
    ['relay cap list', 'the capabilities there are'],
    ['relay cap list --json', 'with the JSON schema of their arguments'],
  ],
  ask: async ({ open }) => (await open()).relay.capabilities.list(),
  print: ({ capabilities }, { style }) =>
    capabilities
      .map(({ name, description, args_schema, cacheable, cache_ttl_sec, enabled }) => {
        const cached = cacheable ? `cached for ${span(cache_ttl_sec * 1000)}` : 'not cached';
        const about = enabled === false ? `off: allow it in the configuration; ${cached}` : cached;
        return [
          `${style.cyan(plain(name))}  ${style.dim(about)}`,
          `  ${plain(description)}`,
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
    const told = typeof description === 'string' ? `: ${plain(description)}` : '';
    return `  ${plain(name)} (${kind}${required.includes(name) ? '' : ', optional'})${told}`;
  });
}
