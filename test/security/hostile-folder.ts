import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ScratchFolder } from '../projects/scratch-folder.ts';

/**
 * A folder that somebody else filled, before any client asked its user for trust. Whatever of it is run writes a file into `ran`, beside
 * the folder.
 */
export class HostileFolder extends ScratchFolder {
  readonly ran = join(this.root, 'ran');

  constructor() {
    super();
    mkdirSync(this.ran);
  }

  /** A program in the folder that tells on whoever runs it; its path. */
  trap(name: string): string {
    this.write(name, `#!/bin/sh\n: > "${this.ran}/$(basename "$0")"\nexit 1\n`);
    chmodSync(join(this.path, name), 0o755);
    return join(this.path, name);
  }

  get wasRun(): string[] {
    return readdirSync(this.ran);
  }
}
