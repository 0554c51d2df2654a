import { dirname } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { sha256 } from '../../engines/body-hashes.ts';
import { jsonValue, parseJsonText } from '../../formats/json-syntax.ts';
import { ourHandlers } from './entries.ts';

/** Whether a client trusts a hook or a folder. We only read trust: granting it is up to the user. */
export type Trust = 'trusted' | 'changed' | 'untrusted' | 'refused';

/**
 * Returns whether Codex trusts our hooks. Codex runs a hook only if `hooks.state` in the user's configuration
 * contains its hash: the hash of sorted JSON with the event and the handler, including default values.
 */
export function codexHookTrust(
  file: string,
  hooks: JsonObject,
  config: JsonObject,
): { readonly event: string; readonly trust: Trust }[] {
  const state = isJsonObject(config.hooks) && isJsonObject(config.hooks.state) ? config.hooks.state : {};
  return ourHandlers(hooks, 'codex').map(({ event, group, index, handler, matcher }) => {
    const label = event.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
    const noted = state[`${file}:${label}:${group}:${index}`];
    return { event, trust: hookTrust(noted, codexDigest(label, handler, matcher)) };
  });
}

function hookTrust(state: Json | undefined, expectedHash: string): Trust {
  if (!isJsonObject(state)) return 'untrusted';
  if (state.enabled === false) return 'refused';
  if (typeof state.trusted_hash !== 'string') return 'untrusted';
  return state.trusted_hash === expectedHash ? 'trusted' : 'changed';
}

export function codexDigest(label: string, handler: JsonObject, matcher?: Json): string {
  const { command, timeout } = handler;
  const hooks = [{ async: false, command, timeout, type: 'command' }];
  const identity = { event_name: label, hooks, matcher };
  return `sha256:${sha256(JSON.stringify(identity))}`;
}

/**
 * Returns whether one of our hooks changes or disappears between `before` and `after`, so that Codex no
 * longer trusts it.
 */
export function losesCodexTrust(before: string | null, after: string | null): boolean {
  const digests = (text: string | null) => {
    const settings = text?.trim() ? jsonValue(parseJsonText(text, { comments: true })) : {};
    return ourHandlers(settings, 'codex').map(({ event, handler, matcher }) =>
      codexDigest(event, handler, matcher),
    );
  };
  const fresh = digests(after);
  return !digests(before).every((old) => fresh.includes(old));
}

/**
 * Returns whether Codex trusts a folder. Its configuration says so with `[projects."/path"] trust_level =
 * "trusted"`.
 */
export function codexFolderTrust(folder: string, config: JsonObject): Trust {
  return nearest(folder, (at) => {
    const project = projectIn(config, at);
    return project && (project.trust_level === 'trusted' ? 'trusted' : 'refused');
  });
}

/**
 * Returns whether Gemini CLI trusts a folder. Its file `trustedFolders.json` maps paths to TRUST_FOLDER,
 * TRUST_PARENT or DO_NOT_TRUST.
 */
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

/** Returns the trust of the folder or, if it has no entry, of its nearest parent folder with an entry. */
function nearest(folder: string, trustOf: (folder: string) => Trust | undefined): Trust {
  const trust = trustOf(folder);
  if (trust) return trust;
  return dirname(folder) === folder ? 'untrusted' : nearest(dirname(folder), trustOf);
}
