import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A place for a file with a prompt, for programs that take it so; gone when disposed. */
export function promptFile(): AsyncDisposable & { write(text: string): Promise<string> } {
  let folder: string | null = null;
  return {
    async write(text) {
      folder ??= await mkdtemp(join(tmpdir(), 'relay-prompt-'));
      const path = join(folder, 'prompt-1.md');
      await writeFile(path, text, { mode: 0o600 });
      return path;
    },
    async [Symbol.asyncDispose]() {
      if (folder !== null) await rm(folder, { recursive: true, force: true });
    },
  };
}
