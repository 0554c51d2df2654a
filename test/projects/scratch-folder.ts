import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Ran, relay } from '../cli/program.ts';

/** A temporary folder for a test, with a home next to it; deleted when disposed. */
export class ScratchFolder implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'relay-project-'));
  readonly path = join(this.root, 'work');
  readonly home = join(this.root, 'home');

  constructor() {
    mkdirSync(this.path);
    mkdirSync(this.home, { mode: 0o700 });
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(join(this.path, name)), { recursive: true });
    writeFileSync(join(this.path, name), text);
  }

  read(name: string): string {
    return readFileSync(join(this.path, name), 'utf8');
  }

  has(name: string): boolean {
    return existsSync(join(this.path, name));
  }

  json(name: string): ReturnType<typeof JSON.parse> {
    return JSON.parse(this.read(name));
  }

  /** Runs the real program in this folder. */
  relay(
    args: readonly string[],
    o: { stdin?: string; env?: { [name: string]: string }; cwd?: string } = {},
  ): Promise<Ran> {
    return relay(args, {
      home: this.home,
      cwd: o.cwd ?? this.path,
      ...o,
      env: { HOME: this.home, ...o.env },
    });
  }

  git(...args: string[]): string {
    const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];
    return execFileSync('git', [...who, ...args], { cwd: this.path, encoding: 'utf8' });
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}
