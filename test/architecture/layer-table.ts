/** The allowed imports of one layer; every other import is an error. Imports point inward. */
export interface Layer {
  /** Layers that this layer may import. */
  readonly values: readonly string[];
  /** Layers of which this layer may import types only. */
  readonly types: readonly string[];
  /** npm packages that this layer may import, or a list for each of its folders. `any` allows all packages. */
  readonly packages: readonly string[] | 'any' | { readonly [folder: string]: readonly string[] };
  /** True if the whole layer may use Node APIs. A list names the folders that may use them. */
  readonly node: boolean | readonly string[];
  /**
   * How the folders of this layer may import each other: `free`, `types` only, or `apart` (not at all). Every folder
   * may import files that are directly in the layer.
   */
  readonly folders: 'free' | 'types' | 'apart';
  /** Exceptions: the folder `from` may import from the folder `to`. */
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
    // '' means files directly in the layer, such as node-sqlite.ts, which two engines use.
    node: ['', 'sqlite', 'nats', 's3'],
    folders: 'apart',
    // A Durable Object runs the statements of the sqlite engine, and keeps large blobs in a bucket like S3.
    between: [
      ['cloudflare', 'sqlite'],
      ['cloudflare', 's3'],
    ],
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
    between: [
      ['questions', 'threads'],
      ['questions', 'keys'],
    ],
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
    // Each integration imports only its own peer packages.
    packages: {
      ai: ['ai'],
      'claude-agent': ['@anthropic-ai/claude-agent-sdk', 'zod'],
      deepagents: ['deepagents'],
      langchain: ['@langchain/core', 'langchain'],
      langgraph: ['@langchain/core', '@langchain/langgraph-checkpoint'],
      'google-adk': ['@google/adk', '@google/genai'],
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
