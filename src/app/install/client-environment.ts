import { isJsonObject, type JsonObject } from '../../base/json.ts';
import type { Environment } from '../config.ts';
import { type Client, RELAY_VARIABLES } from './clients.ts';

/** What Codex gives to a server by itself; anything else its entry has to name. */
const CODEX_GIVES = [
  ...['HOME', 'LOGNAME', 'PATH', 'SHELL', 'USER', 'LANG', 'LC_ALL', 'TERM', 'TMPDIR', 'TZ'],
  ...[
    '__CF_USER_TEXT_ENCODING',
    'SYSTEMROOT',
    'PATHEXT',
    'COMSPEC',
    'APPDATA',
    'LOCALAPPDATA',
    'USERPROFILE',
  ],
];
/** What Gemini CLI takes for a secret by its name, and gives to no server. */
const GEMINI_KEEPS = /TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT/i;

/** What a client that was started here gives to an MCP server: what it leaves of its own environment, and what the entry says. */
export function serverEnvironment(client: Client, server: JsonObject, env: Environment): Environment {
  const named = Array.isArray(server.env_vars) ? server.env_vars : [];
  const given = Object.entries(env).filter(([name]) => {
    if (client === 'codex') return CODEX_GIVES.includes(name) || named.includes(name);
    return client !== 'gemini' || !GEMINI_KEEPS.test(name);
  });
  const said = isJsonObject(server.env)
    ? server.env
    : isJsonObject(server.environment)
      ? server.environment
      : {};
  const expanded = Object.entries(said).map(([name, value]) => [name, expand(String(value), env)]);
  return { ...Object.fromEntries(given), ...Object.fromEntries(expanded) };
}

/** Which of the variables that choose the relay a server does not get as the hooks of the same client do. */
export function lostVariables(server: Environment, env: Environment): string[] {
  return RELAY_VARIABLES.filter((name) => (env[name] || '') !== (server[name] || ''));
}

/** `$NAME`, `${NAME}` and `${NAME:-default}`, as clients write them. */
function expand(text: string, env: Environment): string {
  return text.replace(
    /\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})/g,
    (all, bare, braced, otherwise) => env[bare ?? braced] ?? otherwise ?? all,
  );
}
