import { readFileSync } from 'node:fs';
import { isOwn, type Platform } from '../build/executable.ts';

/** An executable of the release, its size in bytes, and the size of its archive in bytes. */
export interface PlatformBuild {
  readonly platform: Platform;
  readonly size: number;
  readonly archive: number;
}

/**
 * Returns the release notes: a table of the executables, a list of parts that were not built, and the version's changelog.
 */
export function notes(
  version: string,
  builtPlatforms: readonly PlatformBuild[],
  leftOut: readonly string[] = [],
): string {
  const row = ({ platform, size, archive }: PlatformBuild) => {
    const tested = isOwn(platform) ? 'yes' : 'not run: compiled on another kind of machine';
    return `| ${platform.name} | ${megabytes(size)} | ${megabytes(archive)} | ${tested} |`;
  };
  return `# ContextRelay ${version}

| executable | size | archive | tested |
|---|---|---|---|
${builtPlatforms.map(row).join('\n')}

${leftOut.map((line) => `${line}\n\n`).join('')}${changes(version)}
`;
}

/** Returns the section about a version in the changelog, or an empty text. */
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
