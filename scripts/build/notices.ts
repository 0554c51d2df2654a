import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

/** A package that is bundled, at least partly, into the files that we publish. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly folder: string;
}

/**
 * Returns the licence texts of all packages that are bundled into dist. The licences require that we publish
 * these texts. A package without a licence stops the build.
 */
export function thirdPartyNotices(metafiles: readonly Metafile[]): string {
  const sections = bundledPackages(metafiles).map(notice);
  return [
    'The command line and the dashboard in this package contain parts of the following packages.\n',
    ...sections,
  ].join(`\n${'-'.repeat(80)}\n\n`);
}

export function bundledPackages(metafiles: readonly Metafile[]): BundledPackage[] {
  // Add this package, which the metafiles do not list: the token table contains its vocabulary.
  const folders = new Set(['node_modules/gpt-tokenizer']);
  for (const output of metafiles.flatMap(({ outputs }) => Object.values(outputs))) {
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
      const folder = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0];
      if (folder && bytesInOutput > 0) folders.add(folder);
    }
  }
  return [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { name, version, license, folder };
  });
}

function notice({ name, version, license, folder }: BundledPackage): string {
  const files = existsSync(folder)
    ? readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file))
    : [];
  if (!license && files.length === 0) throw new Error(`${name} says nothing about its licence`);
  const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...texts].join('\n\n').concat('\n');
}
