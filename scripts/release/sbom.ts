import { readFileSync } from 'node:fs';
import type { Metafile } from 'esbuild';
import { bundledPackages } from '../build/notices.ts';

/**
 * Returns the bill of materials of the executable in CycloneDX 1.6. It lists Bun, and every bundled package
 * with its checksum from the lockfile.
 */
export function billOfMaterials(version: string, metafiles: readonly Metafile[]): object {
  const locked = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages;
  const packages = bundledPackages(metafiles).map(({ name, version: its, license, folder }) => ({
    type: 'library',
    'bom-ref': purl(name, its),
    name,
    version: its,
    purl: purl(name, its),
    licenses: [/^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license }],
    hashes: [{ alg: 'SHA-512', content: hex(locked[folder.replaceAll('\\', '/')].integrity) }],
  }));
  const bun = locked['node_modules/bun'].version;
  const platform = {
    type: 'platform',
    'bom-ref': purl('bun', bun),
    name: 'bun',
    version: bun,
    purl: purl('bun', bun),
    licenses: [{ license: { id: 'MIT' } }],
  };
  const ownPurl = purl('contextrelay', version);
  const components = [platform, ...packages];
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        ...{ type: 'application', 'bom-ref': ownPurl, name: 'contextrelay', version, purl: ownPurl },
        licenses: [{ license: { id: 'MIT' } }],
      },
    },
    components,
    dependencies: [{ ref: ownPurl, dependsOn: components.map((component) => component['bom-ref']) }],
  };
}

function purl(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function hex(integrity: string): string {
  return Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
}
