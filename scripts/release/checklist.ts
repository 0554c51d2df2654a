import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SECRET_SCAN_CHARS } from '../../src/base/limits.ts';
import { findSecrets } from '../../src/text/secrets.ts';
import { isOwn, PLATFORMS } from '../build/executable.ts';
import { must } from './run.ts';

/** A check of a release: its name, and a function that returns the problems it found. */
export type Check = readonly [name: string, wrong: () => readonly string[]];

/** Maximum sizes in bytes of the released files, by pattern of their names. */
const SIZES: readonly (readonly [RegExp, number])[] = [
  [/^contextrelay-[\d.]+\.tgz$/, 3_000_000],
  [/\.(?:tar\.xz|deb|rpm)$/, 60_000_000],
];

/** All files that contain the version, each with the pattern that finds it. */
const VERSIONED: { readonly [path: string]: RegExp } = {
  'package.json': /"version": "([^"]+)"/,
  'runtime/package.json': /"version": "([^"]+)"/,
  'gemini-extension.json': /"version": "([^"]+)"/,
  '.claude-plugin/marketplace.json': /"version": "([^"]+)"/,
  'plugins/context-relay/.claude-plugin/plugin.json': /"version": "([^"]+)"/,
  'skill/context-relay/SKILL.md': /version: "([^"]+)"/,
  'plugins/context-relay/skills/context-relay/SKILL.md': /version: "([^"]+)"/,
  'python/src/contextrelay/__init__.py': /__version__ = "([^"]+)"/,
  'deploy/nats/helm/contextrelay/Chart.yaml': /appVersion: "([^"]+)"/,
};

/** Licences that bundled packages may have. None of them requires more than attribution. */
const LICENCES =
  /^(?:MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|Unlicense|BlueOak-1\.0\.0|\(MPL-2\.0 OR Apache-2\.0\))$/;

/** Returns the checks of the sources. They run before anything is built. */
export function sourceChecks(version: string): Check[] {
  return [
    ['one version everywhere', () => wrongVersions(version)],
    ['the changelog tells of it', () => changelog(version)],
    ['nothing is uncommitted', () => must('git', ['status', '--porcelain']).split('\n').filter(Boolean)],
  ];
}

/** Returns the checks of the built files. */
export function artefactChecks(folder: string, version: string): Check[] {
  return [
    ['sizes', () => sizes(folder)],
    ['licences', () => licences(folder)],
    ['no path of this machine', () => leaks(folder)],
    ['no secret', () => secrets(folder)],
    ['every executable has the format of its platform', () => formats(folder)],
    ['the executable is this version', () => ownVersion(folder, version)],
  ];
}

export function wrongVersions(version: string): string[] {
  return Object.entries(VERSIONED).flatMap(([path, pattern]) => {
    const foundVersion = pattern.exec(readFileSync(path, 'utf8'))?.[1];
    return foundVersion === version ? [] : [`${path} says ${foundVersion}`];
  });
}

function changelog(version: string): string[] {
  const text = readFileSync('CHANGELOG.md', 'utf8');
  const [first] = /^## .+$/m.exec(text) ?? [''];
  return first === `## ${version}` ? [] : [`CHANGELOG.md begins with "${first}", not with "## ${version}"`];
}

function sizes(folder: string): string[] {
  return globSync(join(folder, '*')).flatMap((path) => {
    const most = SIZES.find(([pattern]) => pattern.test(basename(path)))?.[1];
    const { size } = statSync(path);
    return most !== undefined && size > most ? [`${basename(path)} has ${size} bytes; at most ${most}`] : [];
  });
}

function licences(folder: string): string[] {
  const { components } = JSON.parse(readFileSync(join(folder, 'sbom.cdx.json'), 'utf8'));
  const licenceOf = (component: { licenses: { license?: { id: string }; expression?: string }[] }) =>
    component.licenses.map(({ license, expression }) => license?.id ?? expression ?? '').join();
  return components
    .filter((component: never) => !LICENCES.test(licenceOf(component)))
    .map((component: never) => `${(component as { name: string }).name}: ${licenceOf(component)}`);
}

/**
 * Returns the content of the npm packages and of this machine's executable as text. The executable contains
 * its script as plain text.
 */
function publishedTexts(folder: string): [name: string, text: string][] {
  const tarballs = globSync(join(folder, '*.tgz')).map((path): [string, string] => [
    basename(path),
    gunzipSync(readFileSync(path)).toString('latin1'),
  ]);
  const program = ownProgram(folder);
  return existsSync(program) ? [...tarballs, ['relay', readFileSync(program).toString('latin1')]] : tarballs;
}

function leaks(folder: string): string[] {
  const home = homedir();
  const places = [resolve('.'), ...(home.length > 5 ? [home] : [])];
  return publishedTexts(folder).flatMap(([name, text]) =>
    places.filter((place) => text.includes(`${place}/`)).map((place) => `${name} names ${place}`),
  );
}

/** Searches the npm packages for secrets. The executable is not searched, because most of it is Bun. */
function secrets(folder: string): string[] {
  return publishedTexts(folder).flatMap(([name, text]) =>
    name === 'relay'
      ? []
      : piecesOf(text).flatMap((piece) => findSecrets(piece).map(({ kind }) => `${name} shows ${kind}`)),
  );
}

function piecesOf(text: string): string[] {
  return text.match(new RegExp(`[^]{1,${SECRET_SCAN_CHARS}}`, 'g')) ?? [];
}

function formats(folder: string): string[] {
  return PLATFORMS.flatMap(({ name, node }) => {
    const program = join(folder, name, node.startsWith('win32') ? 'relay.exe' : 'relay');
    if (!existsSync(program)) return [];
    const builtFor = executableFormat(readFileSync(program).subarray(0, 4096));
    const expected = node.replace(/-musl$/, '');
    return builtFor === expected ? [] : [`${name}/relay is built for ${builtFor}`];
  });
}

/** Returns the platform of an executable, read from its ELF, Mach-O or PE header. */
export function executableFormat(head: Buffer): string {
  if (head.toString('latin1', 0, 4) === '\x7fELF')
    return { 62: 'linux-x64', 183: 'linux-arm64' }[head.readUInt16LE(18)] ?? 'another Linux';
  if (head.readUInt32LE(0) === 0xfeedfacf)
    return { 16777223: 'darwin-x64', 16777228: 'darwin-arm64' }[head.readUInt32LE(4)] ?? 'another macOS';
  const pe = head.toString('latin1', 0, 2) === 'MZ' ? head.readUInt32LE(0x3c) : head.length;
  if (pe + 6 <= head.length && head.toString('latin1', pe, pe + 4) === 'PE\0\0')
    return head.readUInt16LE(pe + 4) === 0x8664 ? 'win32-x64' : 'another Windows';
  return 'no known platform';
}

function ownVersion(folder: string, version: string): string[] {
  const reportedVersion = must(ownProgram(folder), ['version']).trim();
  return reportedVersion === version ? [] : [`it says ${reportedVersion}`];
}

function ownProgram(folder: string): string {
  return join(folder, PLATFORMS.find(isOwn)!.name, process.platform === 'win32' ? 'relay.exe' : 'relay');
}

/** Writes the version into every file that contains it, and into package-lock.json. */
export function setVersion(version: string): void {
  for (const [path, pattern] of Object.entries(VERSIONED)) {
    const text = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      text.replace(pattern, (line, old: string) => line.replace(old, version)),
    );
  }
  must('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund']);
}
