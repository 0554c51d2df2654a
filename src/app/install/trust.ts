import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { ourHandlers } from './entries.ts';

/** What clients have been told about our hooks and this folder. It is read, never written: trust is the user's to give. */

export type Trust = 'trusted' | 'changed' | 'untrusted' | 'refused';

/**
 * Codex runs a hook only while `hooks.state` in its user configuration holds the digest of that very hook. The digest is
 * made from the event and the handler with its defaults filled in, as sorted JSON.
 */
export function codexHookTrust(
  file: string,
  hooks: Json | undefined,
  config: JsonObject,
): { readonly event: string; readonly trust: Trust }[] {
  const state = isJsonObject(config.hooks) && isJsonObject(config.hooks.state) ? config.hooks.state : {};
  return ourHandlers(hooks, 'codex').map(({ event, group, index, handler }) => {
    const label = event.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
    const noted = state[`${file}:${label}:${group}:${index}`];
    return { event, trust: hookTrust(noted, codexDigest(label, handler)) };
  });
}

function hookTrust(state: Json | undefined, digest: string): Trust {
  if (!isJsonObject(state)) return 'untrusted';
  if (state.enabled === false) return 'refused';
  if (typeof state.trusted_hash !== 'string') return 'untrusted';
  return state.trusted_hash === digest ? 'trusted' : 'changed';
}

export function codexDigest(label: string, handler: JsonObject): string {
  const { command, timeout } = handler;
  const identity = { event_name: label, hooks: [{ async: false, command, timeout, type: 'command' }] };
  return `sha256:${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`;
}

/** `[projects."/path"] trust_level = "trusted"`, for the folder or one above it. */
export function codexFolderTrust(folder: string, config: JsonObject): Trust {
  const projects = isJsonObject(config.projects) ? config.projects : {};
  for (const at of upwards(folder)) {
    const project = Object.hasOwn(projects, at) ? projects[at] : undefined;
    if (!isJsonObject(project)) continue;
    return project.trust_level === 'trusted' ? 'trusted' : 'refused';
  }
  return 'untrusted';
}

/** `trustedFolders.json`: path → TRUST_FOLDER, TRUST_PARENT or DO_NOT_TRUST. The nearest one counts. */
export function geminiFolderTrust(folder: string, folders: Json | undefined): Trust {
  if (!isJsonObject(folders)) return 'untrusted';
  for (const at of upwards(folder)) {
    const parent = Object.entries(folders).some(
      ([path, level]) => level === 'TRUST_PARENT' && dirname(path) === at,
    );
    if (folders[at] === 'DO_NOT_TRUST') return 'refused';
    if (folders[at] === 'TRUST_FOLDER' || parent) return 'trusted';
  }
  return 'untrusted';
}

/** `projects.<path>.hasTrustDialogAccepted` in ~/.claude.json, for the folder or one above it. */
export function claudeFolderTrust(folder: string, state: Json | undefined): Trust {
  const projects = isJsonObject(state) && isJsonObject(state.projects) ? state.projects : {};
  for (const at of upwards(folder)) {
    const project = Object.hasOwn(projects, at) ? projects[at] : undefined;
    if (isJsonObject(project) && project.hasTrustDialogAccepted === true) return 'trusted';
  }
  return 'untrusted';
}

function* upwards(folder: string): Generator<string> {
  for (let at = folder; ; at = dirname(at)) {
    yield at;
    if (dirname(at) === at) return;
  }
}
