import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { must, outsideEnv, ROOT } from './processes.ts';

/** A folder outside the clone in which the packed package is installed. */
export interface Installation extends Disposable {
  readonly folder: string;
  /** Path of the published command. */
  readonly relay: string;
  /** Value for RELAY_HOME: an empty folder. */
  readonly home: string;
  readonly tarball: string;
  write(name: string, text: string): string;
}

/** Packs and installs the package without the network, because it has no dependencies. */
export async function install(): Promise<Installation> {
  const parent = mkdtempSync(join(tmpdir(), 'relay-package-'));
  const folder = join(parent, 'an empty folder');
  mkdirSync(folder);
  try {
    const packed = await must('npm', ['pack', '--json', '--pack-destination', parent], { cwd: ROOT });
    const tarball = join(parent, JSON.parse(packed)[0].filename);
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    const flags = ['--offline', '--no-audit', '--no-fund'];
    await must('npm', ['install', ...flags, tarball], { cwd: folder, env: outsideEnv() });
    return {
      folder,
      relay: join(folder, 'node_modules', '.bin', 'relay'),
      home: join(parent, 'home'),
      tarball,
      write(name, text) {
        const path = join(folder, name);
        writeFileSync(path, text);
        return path;
      },
      [Symbol.dispose]: () => rmSync(parent, { recursive: true, force: true }),
    };
  } catch (error) {
    rmSync(parent, { recursive: true, force: true });
    throw error;
  }
}
