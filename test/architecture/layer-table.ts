/** What a layer may lean on. Imports point inward: everything that is not in its row is refused. */
export interface Layer {
  /** Layers it may load. */
  readonly values: readonly string[];
  /** Layers it may name the types of, and nothing more. */
  readonly types: readonly string[];
  /** npm packages it may load, or those of each of its folders. `any` where a layer exists to wrap one. */
  readonly packages: readonly string[] | 'any' | { readonly [folder: string]: readonly string[] };
  /** Whether it may use what only Node has; `true` or the folders that may. */
  readonly node: boolean | readonly string[];
  /**
   * How its folders see each other: `free`, `types` only, or `apart`. Files that lie directly in the layer belong to
   * all of its folders.
   */
  readonly folders: 'free' | 'types' | 'apart';
  /** `[from, to]`: folders that may load from each other all the same. */
  readonly between?: readonly (readonly [from: string, to: string])[];
}

export const LAYERS: Readonly<Record<string, Layer>> = {
  base: { values: [], types: [], packages: [], node: false, folders: 'free' },
  text: {
    values: ['base'],
    types: [],
    packages: ['re2js'],
    node: false,
    folders: 'free',
  },
  formats: { values: ['base'], types: [], packages: ['smol-toml', 'yaml'], node: false, folders: 'free' },
  kernel: { values: ['base'], types: [], packages: [], node: false, folders: 'free' },
  engines: {
    values: ['kernel', 'base'],
    types: [],
    packages: 'any',
    // '' is the folder itself: node-sqlite.ts loads SQLite for two engines.
    node: ['', 'sqlite', 'nats', 's3'],
    folders: 'apart',
  },
  schemas: { values: ['base'], types: ['formats'], packages: ['zod'], node: false, folders: 'free' },
  contract: {
    values: ['base'],
    types: ['schemas', 'kernel', 'text', 'formats'],
    packages: [],
    node: false,
    folders: 'free',
  },
  domain: {
    values: ['contract', 'kernel', 'text', 'formats', 'base'],
    types: [],
    packages: [],
    node: false,
    folders: 'types',
  },
  sdk: {
    values: ['contract', 'text', 'formats', 'base'],
    types: [],
    packages: [],
    node: false,
    folders: 'free',
  },
  client: {
    values: ['sdk', 'contract', 'text', 'formats', 'base'],
    types: ['kernel'],
    packages: [],
    node: false,
    folders: 'types',
    between: [['pipelines', 'prompts']],
  },
  runners: {
    values: ['client', 'sdk', 'contract', 'text', 'base'],
    types: [],
    packages: 'any',
    node: true,
    folders: 'apart',
  },
  integrations: {
    values: ['sdk', 'contract', 'text', 'formats', 'base'],
    types: [],
    // The peers of each, so that importing one never loads another's.
    packages: {
      ai: ['ai'],
      'claude-agent': ['@anthropic-ai/claude-agent-sdk', 'zod'],
      deepagents: ['deepagents'],
      langchain: ['@langchain/core', 'langchain'],
      langgraph: ['@langchain/core', '@langchain/langgraph-checkpoint'],
      mastra: ['@mastra/core'],
      'openai-agents': ['@openai/agents'],
    },
    node: false,
    folders: 'apart',
  },
  interfaces: {
    values: ['schemas', 'contract', 'domain', 'client', 'sdk', 'text', 'formats', 'base'],
    types: [],
    packages: 'any',
    node: ['cli', 'ws'],
    folders: 'apart',
  },
  public: {
    values: ['client', 'sdk', 'contract', 'base'],
    types: ['text', 'formats'],
    packages: [],
    node: false,
    folders: 'free',
  },
  app: {
    values: [
      'base',
      'text',
      'formats',
      'kernel',
      'engines',
      'contract',
      'schemas',
      'domain',
      'sdk',
      'client',
      'runners',
      'interfaces',
    ],
    types: [],
    packages: 'any',
    node: true,
    folders: 'free',
  },
};
