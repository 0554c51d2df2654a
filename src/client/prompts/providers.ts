/** Everything about a provider of models that is plain data. Help texts, options and lists are made from this table. */
export interface Provider {
  /** The variable that holds its key; null where it needs none, and RELAY_MODEL_KEY may give one. */
  readonly key: string | null;
  readonly keyHelp?: string;
  /** Its address; null where the user has to give it. */
  readonly base: string | null;
  /** The variable that overrides the address. */
  readonly baseKey: string;
  readonly baseHelp?: string;
  /** The model that is asked where neither a flag nor the environment nor the configuration names one. */
  readonly model: string | null;
  /** How to see which models there are. */
  readonly models: string;
}

/** In the order in which they are tried where none is named. */
export const PROVIDERS = {
  anthropic: {
    key: 'ANTHROPIC_API_KEY',
    keyHelp: 'The key for Anthropic’s models.',
    base: 'https://api.anthropic.com',
    baseKey: 'ANTHROPIC_BASE_URL',
    baseHelp: 'Where they are asked, if not at Anthropic itself.',
    model: 'claude-sonnet-4-5',
    models: 'GET /v1/models at its address lists them.',
  },
  openai: {
    key: 'OPENAI_API_KEY',
    keyHelp: 'The key for OpenAI’s models.',
    base: 'https://api.openai.com/v1',
    baseKey: 'OPENAI_BASE_URL',
    baseHelp: 'Where they are asked, if not at OpenAI itself.',
    model: 'gpt-5',
    models: 'GET /models at its address lists them.',
  },
  gemini: {
    key: 'GEMINI_API_KEY',
    keyHelp: 'The key for Gemini.',
    base: 'https://generativelanguage.googleapis.com',
    baseKey: 'GOOGLE_GEMINI_BASE_URL',
    baseHelp: 'Where it is asked, if not at Google itself.',
    model: 'gemini-flash-latest',
    models: 'GET /v1beta/models at its address lists them.',
  },
  ollama: {
    key: null,
    base: 'http://127.0.0.1:11434',
    baseKey: 'OLLAMA_HOST',
    baseHelp: 'Where Ollama listens; http://127.0.0.1:11434 by default.',
    model: 'llama3.2',
    models: '`ollama list` shows those that are here, `ollama pull NAME` gets one.',
  },
  compatible: {
    key: null,
    base: null,
    baseKey: 'RELAY_MODEL_URL',
    model: null,
    models: 'GET /models at its address lists them.',
  },
} as const satisfies { [provider: string]: Provider };

export type ProviderName = keyof typeof PROVIDERS;

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as ProviderName[];

/** `anthropic, openai, gemini, ollama or compatible`. */
export const PROVIDER_LIST = PROVIDER_NAMES.join(', ').replace(/, (\w+)$/, ' or $1');

/** The variable that chooses a provider by being set. */
export function variableOf({ key, baseKey }: Provider): string {
  return key ?? baseKey;
}
