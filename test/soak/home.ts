import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { relay } from '../cli/program.ts';

/** Room for the bodies that are half here when a server is killed: they are orphans for an hour. */
const DISK = '1g';
const DAY_S = 24 * 3600;
/** Nothing expires by itself. */
const CONFIG = {
  channel_retention: 30 * DAY_S,
  channel_messages: 1_000_000,
  rate_limit_key: 0,
  rate_limit_address: 0,
  default_plan: 'unlimited',
};

/** A home on a disk of its own, where one can be mounted, so that it can be filled. */
export class SoakHome implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'relay-soak-'));
  readonly disk = join(this.root, 'disk');
  readonly home = join(this.disk, 'home');
  /** Why no disk can be filled here; null where one can. */
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

  /** Makes a key for a tenant of its own. */
  async makeKey(tenant: string): Promise<string> {
    const ran = await relay(['keys', 'create', 'soak', '--tenant', tenant, '--json'], { home: this.home });
    if (ran.code !== 0) throw new Error(ran.stderr);
    return (JSON.parse(ran.stdout) as { key: string }).key;
  }

  /** Takes all the room there is. */
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
