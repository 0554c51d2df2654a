import { isJsonObject } from '../../base/json.ts';
import { MCP_WATCHED } from '../../base/limits.ts';

/** The URIs that a `subscriptions/listen` of the 2026 revision asks to be told of; none for any other message. */
export function listenedTo(message: unknown): string[] {
  if (!isMethod(message, 'subscriptions/listen')) return [];
  const wanted = isJsonObject(message.params) ? message.params.notifications : null;
  const uris = isJsonObject(wanted) ? wanted.resourceSubscriptions : null;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string').slice(0, MCP_WATCHED) : [];
}

export function isMethod(message: unknown, method: string): message is { id?: unknown; params?: unknown } {
  return isJsonObject(message) && message.method === method;
}
