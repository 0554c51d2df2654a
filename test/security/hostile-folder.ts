import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ScratchFolder } from '../projects/scratch-folder.ts';

/**
 * A folder with foreign content that the user has not trusted yet. Each program in the folder writes a file into `ran`
 * when it runs.
 */
export class HostileFolder extends ScratchFolder {
  readonly ran = join(this.root, 'ran');

  constructor() {
    super();
    mkdirSync(this.ran);
  }

  /** Creates a program in the folder that records its execution. Returns its path. */
  trap(name: string): string {
    this.write(name, `#!/bin/sh\n: > "${this.ran}/$(basename "$0")"\nexit 1\n`);
    chmodSync(join(this.path, name), 0o755);
    return join(this.path, name);
  }

  get wasRun(): string[] {
    return readdirSync(this.ran);
  }
}
