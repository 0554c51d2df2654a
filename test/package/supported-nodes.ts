import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetchNode } from './fixtures.ts';
import { ROOT } from './processes.ts';

/** A Node that package.json names, or the one that runs this. */
export interface SupportedNode {
  readonly version: string;
  /** Its SQLite will do for the local store; otherwise everything that asks a server works. */
  readonly store: boolean;
  /** Its program, or why there is none here. */
  readonly got: { readonly node: string } | { readonly reason: string };
}

/** The oldest of each line in `engines`, which is where supported versions are said. */
export function oldestVersions(): string[] {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return [...engines.node.matchAll(/\d+\.\d+\.\d+/g)].map(([version]) => version);
}

export async function supportedNodes(versions: readonly string[]): Promise<SupportedNode[]> {
  const older = await Promise.all(
    versions.map(async (version) => ({
      version,
      store: !version.startsWith('20'),
      got: await fetchNode(version),
    })),
  );
  return [...older, { version: process.versions.node, store: true, got: { node: process.execPath } }];
}
