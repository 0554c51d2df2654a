import { isAbsolute, resolve } from 'node:path';
import { httpFetch, retrievalSearch } from '../../domain/threads/capabilities/built-in.ts';
import { register } from '../../domain/threads/capabilities/capabilities.ts';
import type { Capability } from '../../domain/threads/capabilities/capability.ts';
import type { Config } from '../config.ts';

/**
 * Loads the capabilities that the configuration adds. A plugin is a file that exports a capability. A broken
 * plugin is skipped with a warning.
 */
export async function loadCapabilities(
  config: Pick<Config, 'home' | 'http_fetch' | 'capabilities'>,
  warn: (what: string) => void,
): Promise<readonly Capability[]> {
  const plugins: Capability[] = [];
  const names = new Set([retrievalSearch.name, 'http.fetch']);
  for (const file of config.capabilities) {
    try {
      const plugin = await loadPlugin(config.home, file);
      const { name } = register(plugin);
      if (names.has(name)) throw new Error(`another capability is already named ${name}`);
      names.add(name);
      plugins.push(plugin);
    } catch (error) {
      const why = (error as Error).message.replace(/\.?$/, '.');
      warn(`The capability file ${file} ("capabilities" in config.json) was not loaded: ${why}`);
    }
  }
  if (!config.http_fetch) return plugins;
  const { publicFetch } = await import('../serve/outbound.ts');
  return [httpFetch(publicFetch()), ...plugins];
}

/** Loads a plugin. A relative path starts at the home folder, so that a home can be moved. */
async function loadPlugin(home: string, file: string): Promise<Capability> {
  const path = isAbsolute(file) ? file : resolve(home, file);
  const { pathToFileURL } = await import('node:url');
  const loaded: { default?: unknown; capability?: unknown } = await import(pathToFileURL(path).href);
  const capability = (loaded.default ?? loaded.capability) as Capability | undefined;
  if (typeof capability !== 'object' || capability === null || typeof capability.run !== 'function') {
    throw new Error('it must export a capability, either as "default" or as "capability"');
  }
  return capability;
}
