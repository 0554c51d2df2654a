import { isRelayError, RelayError } from '../../base/errors.ts';
import { ANSWER_TOKENS } from '../../base/limits.ts';
import {
  PROVIDER_NAMES,
  PROVIDERS,
  type Provider,
  type ProviderName,
  variableOf,
} from '../../client/prompts/providers.ts';
import type { Model, ModelChoice, ToolUse } from '../../client/prompts/types.ts';
import { anthropic } from './anthropic.ts';
import { chatCompletions } from './chat-completions.ts';
import { gemini } from './gemini.ts';
import { type Connection, callProvider } from './http-call.ts';
import { ollama } from './ollama.ts';
import { responses } from './responses.ts';
import type { Format } from './stream.ts';
import { gather } from './stream.ts';

/** Settings of the configuration that concern models. */
export interface Preferences {
  readonly provider: string | null;
  /** Model that the configuration names for each provider. */
  readonly models: { readonly [provider: string]: string };
  /** Time in ms without data after which a request to a model fails. 0 means no limit. */
  readonly timeoutMs?: number;
}

type Variables = { readonly [name: string]: string | undefined };

/** How to call a provider over HTTP. */
interface Wire {
  /** Path, in which `{model}` is replaced by the name of the model. */
  readonly path: string;
  headers(key: string): { readonly [name: string]: string };
  readonly format: Format;
  /** Path and format for servers that do not know `path` yet. */
  readonly older?: { readonly path: string; readonly format: Format };
}

/** The path and the headers for OpenAI and compatible servers. */
const CHAT = {
  path: '/chat/completions',
  headers: (key: string): { [name: string]: string } => (key ? { authorization: `Bearer ${key}` } : {}),
};

const WIRES: { readonly [provider in ProviderName]: Wire } = {
  anthropic: {
    path: '/v1/messages',
    headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    format: anthropic,
  },
  openai: {
    ...CHAT,
    path: '/responses',
    format: responses,
    older: { path: CHAT.path, format: chatCompletions('max_completion_tokens') },
  },
  gemini: {
    path: '/v1beta/models/{model}:streamGenerateContent?alt=sse',
    headers: (key) => ({ 'x-goog-api-key': key }),
    format: gemini,
  },
  ollama: { path: '/api/chat', headers: () => ({}), format: ollama },
  compatible: { ...CHAT, format: chatCompletions('max_tokens') },
};

/**
 * Opens a model. The choice, the environment or the preferences select its provider, in this order. If only a
 * base URL is chosen, the provider is `compatible` and the preferences do not count. If nothing selects a
 * provider, uses the first one whose environment variable is set. `installed` contains installed programs, which
 * the error for a missing API key suggests instead.
 */
export function openModel(
  choice: ModelChoice,
  env: Variables,
  installed: readonly string[],
  preferences: Preferences = { provider: null, models: {} },
): Model {
  const provider = chooseProvider(choice, env, installed, preferences.provider);
  const row: Provider = PROVIDERS[provider];
  const { path, headers, format, older } = WIRES[provider];
  const key = row.key === null ? (env.RELAY_MODEL_KEY ?? '') : (env[row.key] ?? '');
  if (row.key !== null && key === '') throw noKey(provider, row.key, installed);
  const base = choice.baseUrl ?? (env[row.baseKey] || row.base);
  const model = choice.model ?? (env.RELAY_MODEL || (preferences.models[provider] ?? row.model));
  if (!base) {
    const hint = 'Pass --base-url http://host:port/v1, or set RELAY_MODEL_URL.';
    throw new RelayError('no_model', { what: 'the address of the server is missing', hint });
  }
  if (!model) {
    const hint = `Set it with --model NAME, RELAY_MODEL, or "models" in config.json: {"models": {"${provider}": "NAME"}}.`;
    throw new RelayError('no_model', { what: 'the name of the model is missing', hint });
  }
  const root = address(base, row.baseKey);
  const urlOf = (path: string) => root + path.replace('{model}', encodeURIComponent(model));
  const connection: Connection = {
    provider,
    url: urlOf(path),
    headers: headers(key),
    model,
    keyName: row.key ?? 'RELAY_MODEL_KEY',
    models: row.models,
    timeoutMs: preferences.timeoutMs,
  };
  const fallback = older && { url: urlOf(older.path), format: older.format };
  return providerModel(connection, format, choice.maxTokens ?? ANSWER_TOKENS, fallback);
}

const NO_TOOLS: ToolUse = { tools: [], rounds: [], last: true };

/** Returns a model that is called over HTTP. If the server answers 404, uses `older` from then on. */
export function providerModel(
  connection: Connection,
  format: Format,
  maxTokens: number,
  older?: { readonly url: string; readonly format: Format },
): Model {
  const { provider, model } = connection;
  let [place, spoken] = [connection, format];
  return {
    name: `${provider}/${model}`,
    async answer(prompt, o, use = NO_TOOLS) {
      const ask = async () => {
        const body = await callProvider(place, spoken.body({ prompt, model, maxTokens, ...use }), o);
        return gather(provider, spoken.pieces(body), o);
      };
      try {
        return await ask();
      } catch (error) {
        const unknown = isRelayError(error, 'provider_failed') && error.details.status === 404;
        if (!unknown || !older || spoken === older.format) throw error;
        [place, spoken] = [{ ...connection, url: older.url }, older.format];
        return ask();
      }
    },
  };
}

function chooseProvider(
  choice: ModelChoice,
  env: Variables,
  installed: readonly string[],
  preferred: string | null,
): ProviderName {
  const named =
    choice.provider ?? (env.RELAY_PROVIDER || (choice.baseUrl === undefined ? preferred : null) || undefined);
  if (named !== undefined) {
    if (Object.hasOwn(PROVIDERS, named)) return named as ProviderName;
    const hint = `The providers are: ${PROVIDER_NAMES.join(', ')}.`;
    throw new RelayError('no_model', { what: `there is no provider "${named}"`, hint });
  }
  if (choice.baseUrl !== undefined) return 'compatible';
  const ready = PROVIDER_NAMES.find((name) => env[variableOf(PROVIDERS[name])]);
  if (ready) return ready;
  throw noKey('anthropic', 'ANTHROPIC_API_KEY', installed);
}

function noKey(provider: string, key: string, found: readonly string[]): RelayError {
  const keys = Object.values(PROVIDERS).flatMap((row) =>
    row.key === null || row.key === key ? [] : [row.key],
  );
  const others =
    found.length > 0
      ? `Or use a program that is installed here: ${found.map((cli) => `--cli ${cli}`).join(', ')}.`
      : `Or set ${keys.join(' or ')}, or ${PROVIDERS.ollama.baseKey} for a local model.`;
  const hint = `Set ${key} (${provider}). ${others}`;
  return new RelayError('no_model', { what: `${key} is not set`, hint });
}

/** Adds the scheme to an address. `OLLAMA_HOST` often contains only a host and a port. */
function address(base: string, name: string): string {
  const whole = /^https?:\/\//.test(base) ? base : `http://${base}`;
  if (URL.canParse(whole)) return whole.replace(/\/+$/, '');
  throw new RelayError('bad_config', { where: name, what: `"${base}" is not an address.` });
}
