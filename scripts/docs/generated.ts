/** The generated pages of docs/. `npm run docs` writes them, and a test fails when one is outdated. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOOL_GROUPS, TOOLS } from '../../src/interfaces/mcp/tools.ts';
import { apiPage } from './api-page.ts';
import { configurationPage } from './configuration-page.ts';
import { pipelineFields } from './pipeline-fields.ts';
import { sdkPage } from './sdk-page.ts';

export const GENERATED: { readonly [path: string]: () => string } = {
  'docs/api.md': apiPage,
  'docs/configuration.md': configurationPage,
  'docs/mcp.md': () => withPart('docs/mcp.md', toolTable()),
  'docs/pipelines.md': () => withPart('docs/pipelines.md', pipelineFields()),
  'docs/sdk-reference.md': sdkPage,
};

/**
 * Returns a hand-written page in which the text between the two markers is replaced with the generated part.
 */
function withPart(path: string, part: string): string {
  const page = readFileSync(join(import.meta.dirname, '..', '..', path), 'utf8');
  const [before, after] = page.split(/^<!-- made by npm run docs, up to here: -->\n/m);
  const mark = '<!-- made by npm run docs, from here: -->\n';
  const start = before?.indexOf(mark) ?? -1;
  if (before === undefined || after === undefined || start < 0)
    throw new Error(`${path} has no marks for what is made`);
  return `${before.slice(0, start)}${mark}\n${part}\n\n<!-- made by npm run docs, up to here: -->\n${after}`;
}

/** Returns a table of the MCP tools with the descriptions that models read. */
function toolTable(): string {
  const row = ({ name, description, local, writesProject }: (typeof TOOLS)[number], group?: string) => {
    const where = writesProject ? 'stdio, in a project' : local ? 'stdio' : 'everywhere';
    return `| \`${name}\` | ${description} | ${group ? `with \`--tools ${group}\`` : where} |`;
  };
  const groups = Object.entries(TOOL_GROUPS);
  const rows = [
    ...TOOLS.map((tool) => row(tool)),
    ...groups.flatMap(([group, tools]) => tools.map((tool) => row(tool, group))),
  ];
  return ['| tool | what its description says | offered |', '|---|---|---|', ...rows].join('\n');
}
