import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { writeManPages } from '../docs/man.ts';
import { must } from './run.ts';

export interface PackageOptions {
  readonly version: string;
  /** The executable for Linux on x64. */
  readonly program: string;
  /** Output folder. */
  readonly folder: string;
  /** True to skip the compression, which takes a minute. Used by tests. */
  readonly quick?: boolean;
}

const SUMMARY = 'Agents hand each other a short pointer instead of the payload';
const SCRIPTS = ['postinst', 'prerm', 'postrm'] as const;

/** Files from which shells load completions of installed packages. */
const completions = (kind: 'deb' | 'rpm') => ({
  bash: 'usr/share/bash-completion/completions/relay',
  zsh: `usr/share/zsh/${kind === 'deb' ? 'vendor-completions' : 'site-functions'}/_relay`,
  fish: 'usr/share/fish/vendor_completions.d/relay.fish',
});

/**
 * Writes all files of a deb or rpm package into the folder `root`, under the paths at which they are
 * installed.
 */
async function layOut(root: string, program: string, kind: 'deb' | 'rpm'): Promise<void> {
  const put = (path: string, source: string, mode: number) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    copyFileSync(source, join(root, path));
    chmodSync(join(root, path), mode);
  };
  put('usr/bin/relay', program, 0o755);
  symlinkSync('relay', join(root, 'usr/bin/contextrelay'));
  writeFileSync(join(root, 'usr/bin/contextrelay-mcp'), '#!/bin/sh\nexec /usr/bin/relay mcp "$@"\n', {
    mode: 0o755,
  });
  put('usr/lib/systemd/system/contextrelay.service', 'deploy/package/contextrelay.service', 0o644);
  put('etc/contextrelay/relay.env', 'deploy/package/relay.env', 0o640);
  put('usr/share/doc/contextrelay/copyright', 'LICENSE', 0o644);
  put('usr/share/doc/contextrelay/THIRD-PARTY-NOTICES', 'dist/THIRD-PARTY-NOTICES', 0o644);
  writeFileSync(
    join(root, 'usr/share/doc/contextrelay/changelog.gz'),
    gzipSync(readFileSync('CHANGELOG.md')),
  );
  for (const [shell, path] of Object.entries(completions(kind))) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), must(resolve(program), ['completion', shell]), { mode: 0o644 });
  }
  const man = join(root, 'usr/share/man/man1');
  await writeManPages(man);
  for (const page of readdirSync(man)) {
    writeFileSync(join(man, `${page}.gz`), gzipSync(readFileSync(join(man, page))));
    rmSync(join(man, page));
  }
}

export async function makeDeb({ version, program, folder, quick }: PackageOptions): Promise<string> {
  const root = join(folder, '.deb');
  rmSync(root, { recursive: true, force: true });
  try {
    await layOut(root, program, 'deb');
    mkdirSync(join(root, 'DEBIAN'));
    const control = {
      Package: 'contextrelay',
      Version: version,
      Architecture: 'amd64',
      Section: 'net',
      Priority: 'optional',
      Maintainer: 'the ContextRelay authors <contextrelay@localhost>',
      'Installed-Size': Math.ceil(statSync(program).size / 1024),
      // The executable needs only libc6. The package passwd contains `useradd`, which the installation runs
      // to create a user.
      Depends: 'libc6 (>= 2.17), passwd',
      Description: SUMMARY,
    };
    const lines = Object.entries(control).map(([name, value]) => `${name}: ${value}\n`);
    writeFileSync(join(root, 'DEBIAN/control'), lines.join(''));
    writeFileSync(join(root, 'DEBIAN/conffiles'), '/etc/contextrelay/relay.env\n');
    for (const script of SCRIPTS) {
      copyFileSync(join('deploy/package', script), join(root, 'DEBIAN', script));
      chmodSync(join(root, 'DEBIAN', script), 0o755);
    }
    const packageFile = join(folder, `contextrelay_${version}_amd64.deb`);
    must('dpkg-deb', [
      '--root-owner-group',
      ...(quick ? ['-Znone'] : ['-Zxz', '-z3']),
      '--build',
      root,
      packageFile,
    ]);
    return packageFile;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

export async function makeRpm({ version, program, folder, quick }: PackageOptions): Promise<string> {
  const top = resolve(folder, '.rpm');
  const root = join(top, 'root');
  rmSync(top, { recursive: true, force: true });
  try {
    await layOut(root, program, 'rpm');
    const script = (name: string) =>
      readFileSync(join('deploy/package', name), 'utf8').replace(/^#!.*\n/, '');
    const spec = `
Name: contextrelay
Version: ${version}
Release: 1
Summary: ${SUMMARY}
License: MIT
Requires(post): shadow-utils
AutoReqProv: yes
%global __os_install_post %{nil}
%global debug_package %{nil}
%global _binary_payload ${quick ? 'w0.gzdio' : 'w3.xzdio'}
%description
A relay for agents: command line, server, MCP server and A2A agent in one executable.
%files
%attr(0755, root, root) /usr/bin/relay
/usr/bin/contextrelay
%attr(0755, root, root) /usr/bin/contextrelay-mcp
/usr/lib/systemd/system/contextrelay.service
%dir /etc/contextrelay
%config(noreplace) %attr(0640, root, root) /etc/contextrelay/relay.env
%doc /usr/share/doc/contextrelay
/usr/share/man/man1/*
${Object.values(completions('rpm'))
  .map((path) => `/${path}`)
  .join('\n')}
%post
${script('postinst')}
%preun
${script('prerm')}
%postun
[ ! -d /run/systemd/system ] || systemctl daemon-reload
`;
    writeFileSync(join(top, 'contextrelay.spec'), spec);
    const define = (name: string, value: string) => ['--define', `${name} ${value}`];
    const places = [
      ...define('_topdir', top),
      ...define('_rpmdir', resolve(folder)),
      ...define('_build_name_fmt', '%%{NAME}-%%{VERSION}.%%{ARCH}.rpm'),
    ];
    must('rpmbuild', [
      '-bb',
      '--quiet',
      '--target',
      'x86_64-linux',
      '--buildroot',
      root,
      '--noclean',
      ...places,
      join(top, 'contextrelay.spec'),
    ]);
    return join(folder, `contextrelay-${version}.x86_64.rpm`);
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
}
