import { dirname } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { jsonValue, parseJsonText } from '../../formats/json-syntax.ts';
import { ourHandlers } from './entries.ts';
import { digest } from './file-plan.ts';

/** Reads what clients trust: our hooks and this folder. It never writes it, because only the user may grant trust. */

export type Trust = 'trusted' | 'changed' | 'untrusted' | 'refused';

/**
 * Codex runs a hook only while `hooks.state` in its user configuration has the hook's digest. The digest is made from
 * the event and the handler, with defaults filled in, as sorted JSON.
 */
export function codexHookTrust(
  file: string,
  hooks: JsonObject,
  config: JsonObject,
): { readonly event: string; readonly trust: Trust }[] {
  const state = isJsonObject(config.hooks) && isJsonObject(config.hooks.state) ? config.hooks.state : {};
  return ourHandlers(hooks, 'codex').map(({ event, group, index, handler }) => {
    const label = event.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
    const noted = state[`${file}:${label}:${group}:${index}`];
    return { event, trust: hookTrust(noted, codexDigest(label, handler)) };
  });
}

function hookTrust(state: Json | undefined, wanted: string): Trust {
  if (!isJsonObject(state)) return 'untrusted';
  if (state.enabled === false) return 'refused';
  if (typeof state.trusted_hash !== 'string') return 'untrusted';
  return state.trusted_hash === wanted ? 'trusted' : 'changed';
}

export function codexDigest(label: string, handler: JsonObject): string {
  const { command, timeout } = handler;
  const identity = { event_name: label, hooks: [{ async: false, command, timeout, type: 'command' }] };
  return `sha256:${digest(JSON.stringify(identity))}`;
}

/** Returns whether one of our hooks in the text before has changed or is missing in the text after. */
export function losesCodexTrust(before: string | null, after: string | null): boolean {
  const digests = (text: string | null) => {
    const settings = text?.trim() ? jsonValue(parseJsonText(text, { comments: true })) : {};
    return ourHandlers(settings, 'codex').map(({ event, handler }) => codexDigest(event, handler));
  };
  const fresh = digests(after);
  return !digests(before).every((old) => fresh.includes(old));
}

/** Reads `[projects."/path"] trust_level = "trusted"` for the folder or one above it. */
export function codexFolderTrust(folder: string, config: JsonObject): Trust {
  return nearest(folder, (at) => {
    const project = projectIn(config, at);
    return project && (project.trust_level === 'trusted' ? 'trusted' : 'refused');
  });
}

/** Reads `trustedFolders.json`: path → TRUST_FOLDER, TRUST_PARENT or DO_NOT_TRUST. The nearest folder counts. */
export function geminiFolderTrust(folder: string, folders: JsonObject): Trust {
  return nearest(folder, (at) => {
    const parent = Object.entries(folders).some(
      ([path, level]) => level === 'TRUST_PARENT' && dirname(path) === at,
    );
    if (folders[at] === 'DO_NOT_TRUST') return 'refused';
    return folders[at] === 'TRUST_FOLDER' || parent ? 'trusted' : undefined;
  });
}

function projectIn({ projects }: JsonObject, folder: string): JsonObject | undefined {
  const project = isJsonObject(projects) && Object.hasOwn(projects, folder) ? projects[folder] : undefined;
  return isJsonObject(project) ? project : undefined;
}

/** Returns the trust of the folder itself, or of the nearest folder above that has an entry. */
function nearest(folder: string, trustOf: (folder: string) => Trust | undefined): Trust {
  const trust = trustOf(folder);
  if (trust) return trust;
  return dirname(folder) === folder ? 'untrusted' : nearest(dirname(folder), trustOf);
}
