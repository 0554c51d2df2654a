import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { relay } from '../cli/program.ts';

/** Size of the disk. It has room for the partial bodies that killed servers leave as orphans for an hour. */
const DISK = '1g';
const DAY_S = 24 * 3600;
/** Configuration of the server: nothing expires during the run, and the load reaches no limit. */
const CONFIG = {
  channel_retention: 30 * DAY_S,
  channel_messages: 1_000_000,
  rate_limit_key: 0,
  rate_limit_address: 0,
  default_plan: 'unlimited',
};

/**
 * A home on its own small disk, which the test can fill. If no disk can be mounted, the home is in a normal folder.
 */
export class SoakHome implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'relay-soak-'));
  readonly disk = join(this.root, 'disk');
  readonly home = join(this.disk, 'home');
  /** The reason why no disk could be mounted, or null. */
  readonly noDisk: string | null;

  constructor() {
    mkdirSync(this.disk);
    const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', this.disk], {
      encoding: 'utf8',
    });
    this.noDisk = mount.status === 0 ? null : (mount.error?.message ?? mount.stderr.trim());
    mkdirSync(this.home, { mode: 0o700 });
    writeFileSync(join(this.home, 'config.json'), JSON.stringify(CONFIG));
  }

  /** Creates a key for a new tenant. */
  async makeKey(tenant: string): Promise<string> {
    const ran = await relay(['keys', 'create', 'soak', '--tenant', tenant, '--json'], { home: this.home });
    if (ran.code !== 0) throw new Error(ran.stderr);
    return (JSON.parse(ran.stdout) as { key: string }).key;
  }

  /** Fills the disk completely. */
  fill(): void {
    const file = openSync(join(this.disk, 'ballast'), 'a');
    try {
      for (let size = 1024 * 1024; size >= 512; ) {
        try {
          writeSync(file, new Uint8Array(size));
        } catch {
          size /= 2;
        }
      }
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    rmSync(join(this.disk, 'ballast'), { force: true });
  }

  [Symbol.dispose](): void {
    if (this.noDisk === null && spawnSync('umount', [this.disk]).status !== 0)
      spawnSync('umount', ['-l', this.disk]);
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10 });
  }
}
