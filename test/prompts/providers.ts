export const KEY = 'sk-secret-of-the-user-0123456789';

/** The environment that selects each provider, and the path and key header of its requests. */
export const PROVIDER_ENVIRONMENTS: readonly [
  string,
  (url: string) => { [name: string]: string },
  string,
  string,
][] = [
  ['anthropic', (url) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url }), '/v1/messages', 'x-api-key'],
  [
    'openai',
    (url) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${url}/v1/` }),
    '/v1/responses',
    'authorization',
  ],
  [
    'gemini',
    (url) => ({ GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: url }),
    '/v1beta/models/gemini-flash-latest:streamGenerateContent?alt=sse',
    'x-goog-api-key',
  ],
  ['ollama', (url) => ({ OLLAMA_HOST: url.replace('http://', '') }), '/api/chat', ''],
  [
    'compatible',
    (url) => ({ RELAY_MODEL_URL: `${url}/v1`, RELAY_MODEL: 'local', RELAY_MODEL_KEY: KEY }),
    '/v1/chat/completions',
    'authorization',
  ],
];
