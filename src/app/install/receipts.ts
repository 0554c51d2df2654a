import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { writeAtomically } from '../store/atomic-file.ts';

/**
 * What we did to a file, kept in the relay's own home for its owner alone: the file as it was (settings may hold
 * secrets), and what we left, so that removing gives back the very bytes.
 */
export interface Receipt {
  readonly path: string;
  /** Null where there was no file. */
  readonly original: string | null;
  /** The digest of what we wrote. */
  readonly after: string;
  /** Folders that we had to make, outermost first. */
  readonly folders: readonly string[];
}

export class Receipts {
  readonly #folder: string;

  constructor(relayHome: string) {
    this.#folder = join(relayHome, 'installs');
  }

  async get(path: string): Promise<Receipt | null> {
    try {
      const receipt = JSON.parse(await readFile(this.#file(path), 'utf8'));
      return receipt.path === path ? receipt : null;
    } catch {
      return null;
    }
  }

  async put(receipt: Receipt): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeAtomically(this.#file(receipt.path), `${JSON.stringify(receipt, null, 2)}\n`, { mode: 0o600 });
  }

  /** A folder that we made and that another of our files still needs: that one takes it along when it goes. */
  async passOn(folder: string): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const receipt: Receipt = JSON.parse(await readFile(join(this.#folder, name), 'utf8'));
      if (!receipt.path.startsWith(folder + sep)) continue;
      if (!receipt.folders.includes(folder))
        await this.put({ ...receipt, folders: [folder, ...receipt.folders] });
      return;
    }
  }

  async drop(path: string): Promise<void> {
    await rm(this.#file(path), { force: true });
  }

  #file(path: string): string {
    return join(this.#folder, `${digest(path).slice(0, 24)}.json`);
  }
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
