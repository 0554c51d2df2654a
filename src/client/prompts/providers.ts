/** An entry in the table of model providers. Help texts, options and lists are generated from this table. */
export interface Provider {
  /**
   * Name of the environment variable with the API key. Null if the provider needs none. Such a provider can
   * get an optional API key from RELAY_MODEL_KEY.
   */
  readonly key: string | null;
  readonly keyHelp?: string;
  /** Base URL of the provider's API. Null if the user must set it. */
  readonly base: string | null;
  /** Name of the environment variable that overrides the base URL. */
  readonly baseKey: string;
  readonly baseHelp?: string;
  /**
   * Model to use if no option, environment variable or configuration names one. Null if the user must name
   * one.
   */
  readonly model: string | null;
  /** Sentence that tells the user how to list the provider's models. */
  readonly models: string;
}

/**
 * Model providers, in order of preference. If the user names none, the first one whose environment variable
 * is set is used.
 */
export const PROVIDERS = {
  anthropic: {
    key: 'ANTHROPIC_API_KEY',
    keyHelp: 'The API key for Anthropic.',
    base: 'https://api.anthropic.com',
    baseKey: 'ANTHROPIC_BASE_URL',
    baseHelp: 'The base URL of the Anthropic API, if it is not Anthropic’s own.',
    model: 'claude-sonnet-4-5',
    models: 'GET /v1/models at its address lists its models.',
  },
  openai: {
    key: 'OPENAI_API_KEY',
    keyHelp: 'The API key for OpenAI.',
    base: 'https://api.openai.com/v1',
    baseKey: 'OPENAI_BASE_URL',
    baseHelp: 'The base URL of the OpenAI API, if it is not OpenAI’s own.',
    model: 'gpt-5',
    models: 'GET /models at its address lists its models.',
  },
  gemini: {
    key: 'GEMINI_API_KEY',
    keyHelp: 'The API key for Gemini.',
    base: 'https://generativelanguage.googleapis.com',
    baseKey: 'GOOGLE_GEMINI_BASE_URL',
    baseHelp: 'The base URL of the Gemini API, if it is not Google’s own.',
    model: 'gemini-flash-latest',
    models: 'GET /v1beta/models at its address lists its models.',
  },
  ollama: {
    key: null,
    base: 'http://127.0.0.1:11434',
    baseKey: 'OLLAMA_HOST',
    baseHelp: 'The address of Ollama; http://127.0.0.1:11434 by default.',
    model: 'llama3.2',
    models: '`ollama list` shows the installed models, `ollama pull NAME` installs one.',
  },
  compatible: {
    key: null,
    base: null,
    baseKey: 'RELAY_MODEL_URL',
    model: null,
    models: 'GET /models at its address lists its models.',
  },
} as const satisfies { [provider: string]: Provider };

export type ProviderName = keyof typeof PROVIDERS;

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as ProviderName[];

/** List for messages: `anthropic, openai, gemini, ollama or compatible`. */
export const PROVIDER_LIST = PROVIDER_NAMES.join(', ').replace(/, (\w+)$/, ' or $1');

/** Returns the name of the environment variable that selects a provider when it is set. */
export function variableOf({ key, baseKey }: Provider): string {
  return key ?? baseKey;
}
