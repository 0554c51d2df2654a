import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { RelayError } from '../../base/errors.ts';
import type { Capability } from '../../domain/threads/capabilities/capability.ts';
import { httpFetch } from '../../domain/threads/capabilities/http-fetch.ts';
import type { Config } from '../config.ts';

/** What the configuration adds to the capabilities that are built in. A plugin is one file that exports one. */
export async function loadCapabilities(
  config: Pick<Config, 'home' | 'http_fetch' | 'capabilities'>,
): Promise<readonly Capability[]> {
  const plugins = await Promise.all(config.capabilities.map((file) => loadPlugin(config.home, file)));
  if (!config.http_fetch) return plugins;
  const { publicFetch } = await import('../serve/public-fetch.ts');
  return [httpFetch(publicFetch()), ...plugins];
}

/** Relative to the home folder, so that a home can be carried elsewhere. */
async function loadPlugin(home: string, file: string): Promise<Capability> {
  const path = isAbsolute(file) ? file : resolve(home, file);
  const wrong = (what: string, cause?: unknown) =>
    new RelayError('bad_config', { where: `config.json, "capabilities", ${file}`, what }, cause);
  let loaded: { default?: unknown; capability?: unknown };
  try {
    loaded = await import(pathToFileURL(path).href);
  } catch (error) {
    throw wrong(`it cannot be loaded: ${(error as Error).message}`, error);
  }
  const capability = (loaded.default ?? loaded.capability) as Capability | undefined;
  if (typeof capability !== 'object' || capability === null || typeof capability.run !== 'function') {
    throw wrong('it must export a capability, as default or by that name');
  }
  return capability;
}
