import { readFileSync } from 'node:fs';
import { isOwn, type Platform } from './executable.ts';

/** An executable that was made, in bytes, alone and in its archive. */
export interface Made {
  readonly platform: Platform;
  readonly size: number;
  readonly archive: number;
}

/** What goes out with a release: which executables there are and what is known of them, and what the changelog says of the version. */
export function notes(
  version: string,
  made: readonly Made[],
  { mostBytes: most, leftOut = [] }: { mostBytes: number; leftOut?: readonly string[] },
): string {
  const row = ({ platform, size, archive }: Made) => {
    const over = size > most ? `, over the limit of ${megabytes(most)}: its Node is larger` : '';
    const tried = isOwn(platform) ? 'yes' : 'no: put together on another kind of machine';
    return `| ${platform.name} | ${megabytes(size)}${over} | ${megabytes(archive)} | ${tried} |`;
  };
  return `# ContextRelay ${version}

| executable | size | archive | tried |
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
