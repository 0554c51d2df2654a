/**
 * Builds a release in the folder `released`: the npm packages, an executable and its archive for each platform, the deb
 * and rpm packages, a bill of materials, checksums and release notes. --url adds a Homebrew formula. At the end, this
 * script checks the release and exits with 1 if a check fails. It uploads nothing.
 *
 *   npm run release                    everything
 *   npm run release -- --check         only checks the sources
 *   npm run release -- --only linux-x64 --no-tests
 *   npm run release -- --url https://… URL of the archives, for the formula
 *   npm run release -- --version 0.3.0 writes the version into every file that contains it
 *   npm run release -- --published     makes the program and docs/install.md mention the npm package
 */
import { createHash } from 'node:crypto';
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleCli } from './build/bundle.ts';
import { compileExecutable, isOwn, PLATFORMS, type Platform, runtimeOf } from './build/executable.ts';
import { artefactChecks, type Check, setVersion, sourceChecks } from './release/checklist.ts';
import { formula } from './release/formula.ts';
import { makeDeb, makeRpm } from './release/linux-packages.ts';
import { notes, type PlatformBuild } from './release/notes.ts';
import { namePublished } from './release/published.ts';
import { missingTools, must } from './release/run.ts';
import { billOfMaterials } from './release/sbom.ts';

process.chdir(join(import.meta.dirname, '..'));
const FOLDER = 'released';
/**
 * Command that compresses the archives. Level 6 would make them 10 % smaller, but take four times as long.
 */
const XZ = 'xz -3 -T0';
const OWNED = ['--owner=0', '--group=0', '--sort=name'];

const NOT_RUN = `This executable was compiled on another kind of machine. Its format was checked; it was not run.
On macOS sign it first: codesign --sign - --force relay
`;

/**
 * Runs the tests of the packages and prints which tests were skipped. The tests build the packages again from
 * the same sources.
 */
const TESTS: Check = [
  'tests of what is packed',
  () => {
    const output = must(process.execPath, ['scripts/test.ts', '--full', 'test/package', 'test/release']);
    console.log(/^Skipped\n[\s\S]*/m.exec(output)?.[0] ?? output.trimEnd().split('\n').at(-1));
    return [];
  },
];

const { values } = parseArgs({
  options: {
    check: { type: 'boolean' },
    only: { type: 'string', multiple: true },
    'no-tests': { type: 'boolean' },
    url: { type: 'string' },
    version: { type: 'string' },
    published: { type: 'boolean' },
  },
});

if (values.version) setVersion(values.version);
else if (values.published) namePublished();
else {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const missing = missingTools(process.env.PATH);
  if (!values.check)
    for (const line of [...missing.required, ...missing.optional.values()]) console.log(line);
  if (!values.check && missing.required.length > 0) process.exit(1);
  const fine = goThrough(sourceChecks(version));
  if (!values.check) {
    await make(version, missing.optional);
    const tried = goThrough([...artefactChecks(FOLDER, version), ...(values['no-tests'] ? [] : [TESTS])]);
    process.exitCode = fine && tried ? 0 : 1;
  } else process.exitCode = fine ? 0 : 1;
}

async function make(version: string, leftOut: ReadonlyMap<string, string>): Promise<void> {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const workspace of [[], ['--workspace', 'runtime']])
    must('npm', ['pack', '--silent', '--pack-destination', FOLDER, ...workspace]);
  const work = join(FOLDER, '.bundle');
  const metafile = await bundleCli(work);
  rmSync(work, { recursive: true });
  writeFileSync(join(FOLDER, 'sbom.cdx.json'), JSON.stringify(billOfMaterials(version, [metafile]), null, 2));
  const builtPlatforms: PlatformBuild[] = [];
  for (const platform of PLATFORMS) {
    if (!values.only || values.only.includes(platform.name))
      builtPlatforms.push(await makePlatform(platform, version, leftOut));
  }
  writeFileSync(join(FOLDER, 'RELEASE.md'), notes(version, builtPlatforms, [...leftOut.values()]));
  const sums = checksums();
  if (values.url) writeFileSync(join(FOLDER, 'contextrelay.rb'), formula(version, values.url, sums));
  for (const path of globSync(join(FOLDER, '*.*'))) console.log(`${statSync(path).size}\t${basename(path)}`);
}

async function makePlatform(
  platform: Platform,
  version: string,
  leftOut: ReadonlyMap<string, string>,
): Promise<PlatformBuild> {
  const folder = join(FOLDER, platform.name);
  mkdirSync(folder);
  const program = join(folder, platform.node.startsWith('win32') ? 'relay.exe' : 'relay');
  compileExecutable(program, { platform, runtime: runtimeOf(platform) });
  const { size } = statSync(program);
  console.log(`${size}\t${program}`);
  for (const path of ['LICENSE', 'dist/THIRD-PARTY-NOTICES', 'docs/install.md'])
    copyFileSync(path, join(folder, basename(path)));
  if (platform.node.startsWith('linux')) {
    for (const path of globSync('deploy/container/*')) copyFileSync(path, join(folder, basename(path)));
  }
  if (!isOwn(platform)) writeFileSync(join(folder, 'NOT-RUN'), NOT_RUN);
  const name = `contextrelay-${version}-${platform.name}`;
  const archive = join(FOLDER, `${name}.tar.xz`);
  const transform = `s,^${platform.name},${name},`;
  const args = ['-cf', archive, '-I', XZ, '-C', FOLDER, '--transform', transform, ...OWNED, platform.name];
  must('tar', args);
  if (platform.node === 'linux-x64') {
    if (!leftOut.has('deb')) await makeDeb({ version, program, folder: FOLDER });
    if (!leftOut.has('rpm')) await makeRpm({ version, program, folder: FOLDER });
  }
  return { platform, size, archive: statSync(archive).size };
}

function checksums(): Map<string, string> {
  const files = globSync(join(FOLDER, '*.{tgz,xz,deb,rpm,json}')).sort();
  const sums = new Map(
    files.map((path) => [basename(path), createHash('sha256').update(readFileSync(path)).digest('hex')]),
  );
  writeFileSync(join(FOLDER, 'SHA256SUMS'), [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join(''));
  return sums;
}

function goThrough(checks: readonly Check[]): boolean {
  let fine = true;
  for (const [name, wrong] of checks) {
    let problems: readonly string[];
    try {
      problems = wrong();
    } catch (error) {
      problems = [(error as Error).message];
    }
    console.log(
      `${problems.length === 0 ? 'ok   ' : 'wrong'} ${name}${problems.map((line) => `\n      ${line}`).join('')}`,
    );
    fine &&= problems.length === 0;
  }
  return fine;
}
