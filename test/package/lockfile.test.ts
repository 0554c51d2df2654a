import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface LockEntry {
  version?: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
}

const root = new URL('../../', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
const { NODE_FILES } = await import(new URL('runtime/index.js', root).href);
const runtime = JSON.parse(readFileSync(new URL('runtime/package.json', root), 'utf8'));
const lock = JSON.parse(readFileSync(new URL('package-lock.json', root), 'utf8')) as {
  packages: Record<string, LockEntry>;
};
const installed = Object.entries(lock.packages).filter(([path]) => path.startsWith('node_modules/'));

test('the lockfile contains Node 26 for every supported platform', () => {
  const files: string[] = Object.values(NODE_FILES);
  for (const name of files.map((file) => file.split('/')[0]!)) {
    assert.ok(runtime.optionalDependencies[name], `${name} is an option of contextrelay-runtime`);
    assert.match(lock.packages[`node_modules/${name}`]?.version ?? 'absent', /^26\./, name);
  }
});

test('the native tools are locked for Linux, macOS and Windows, on Intel and ARM', () => {
  // If a platform is missing in the lockfile, npm ci installs no tool there and reports nothing.
  const tools = {
    '@biomejs/cli-': ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64', 'win32-arm64'],
    '@esbuild/': ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64', 'win32-arm64'],
    '@typescript/typescript-': ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'],
  };
  for (const [prefix, platforms] of Object.entries(tools)) {
    for (const platform of platforms) {
      assert.ok(lock.packages[`node_modules/${prefix}${platform}`], `${prefix}${platform} is locked`);
    }
  }
});

test('the lockfiles pin checksums and name no registry', () => {
  const frameworks = JSON.parse(readFileSync(new URL('src/integrations/package-lock.json', root), 'utf8'));
  const { '': _own, ...more } = frameworks.packages as Record<string, LockEntry>;
  assert.ok(Object.keys(more).length > 100);
  for (const [path, entry] of [...installed, ...Object.entries(more)]) {
    if (entry.link) continue;
    assert.match(entry.integrity ?? 'absent', /^sha512-/, path);
    assert.equal(entry.resolved, undefined, path);
  }
});

test('the package has no run-time dependencies, and contextrelay-runtime has the same version', () => {
  assert.equal(manifest.dependencies, undefined);
  assert.equal(manifest.optionalDependencies, undefined);
  assert.equal(runtime.version, manifest.version);
});
