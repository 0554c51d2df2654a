import { readFileSync } from 'node:fs';
import { isOwn, type Platform } from '../build/executable.ts';

/** An executable that was made, in bytes, alone and in its archive. */
export interface Made {
  readonly platform: Platform;
  readonly size: number;
  readonly archive: number;
}

/** What goes out with a release: which executables there are and what is known of them, and what the changelog says of the version. */
export function notes(version: string, made: readonly Made[], leftOut: readonly string[] = []): string {
  const row = ({ platform, size, archive }: Made) => {
    const tested = isOwn(platform) ? 'yes' : 'not run: compiled on another kind of machine';
    return `| ${platform.name} | ${megabytes(size)} | ${megabytes(archive)} | ${tested} |`;
  };
  return `# ContextRelay ${version}

| executable | size | archive | tested |
|---|---|---|---|
${made.map(row).join('\n')}

${leftOut.map((line) => `${line}\n\n`).join('')}${changes(version)}
`;
}

/** The part of the changelog about a version; empty where there is none. */
function changes(version: string): string {
  const [, ...versions] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
  return (
    versions
      .find((text) => text.startsWith(`${version}\n`))
      ?.slice(version.length)
      .trim() ?? ''
  );
}

const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
