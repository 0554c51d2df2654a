import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetchNode } from './fixtures.ts';
import { ROOT } from './processes.ts';

/** A version of Node to test with. */
export interface SupportedNode {
  readonly version: string;
  /** True if this Node's SQLite supports the local store. Without it, only commands against a server work. */
  readonly store: boolean;
  /** Path of the program, or the reason why it is missing. */
  readonly fixture: { readonly node: string } | { readonly reason: string };
}

/** The oldest supported version of each major version, from `engines` in package.json. */
export function oldestVersions(): string[] {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return [...engines.node.matchAll(/\d+\.\d+\.\d+/g)].map(([version]) => version);
}

export async function supportedNodes(versions: readonly string[]): Promise<SupportedNode[]> {
  const older = await Promise.all(
    versions.map(async (version) => ({
      version,
      store: !version.startsWith('20'),
      fixture: await fetchNode(version),
    })),
  );
  return [...older, { version: process.versions.node, store: true, fixture: { node: process.execPath } }];
}
